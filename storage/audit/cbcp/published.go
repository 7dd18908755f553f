package cbcp

import (
	"fmt"
	"strings"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/plainly"
)

// Published is what the operator publishes about the crawler, as far as copies were given to the audit. That they are
// what stands at the URL, an audit does not know.
type Published struct {
	Page       string   // the file with the crawler's page; "" for none
	Text       string   // what people read there
	Leads      []string // where its links lead
	RangesLink string   // where its link element of relation client-ranges leads; "" for none

	Ranges   string // the file with the address ranges; "" for none
	Fault    string // why they cannot be read
	Prefixes int
	Made     time.Time // as they say
}

// staleRanges is how much older than the crawl its ranges may be: draft-illyes-aipref-cbcp-00 had seven days.
const staleRanges = 7 * 24 * time.Hour

const elsewhere = "; curtsy identity check URL looks there"

func checkRanges(f *facts, _ *audit.Result) finds {
	switch p := f.published; {
	case p.Ranges == "":
		return unprovable("an archive does not show the ranges, and no copy was given (--bot-ranges)" + elsewhere)
	case p.Fault != "":
		return broken("they are not in JAFAR format: "+p.Fault, f.shown(p.Ranges, p.Fault))
	case p.Prefixes == 0:
		return broken("they name no range", f.shown(p.Ranges, "no range"))
	default:
		return kept(plainly.Count(int64(p.Prefixes), "range") + " in the copy; whether requests came from there only sites know")
	}
}

func checkRangesCurrent(f *facts, r *audit.Result) finds {
	p := f.published
	switch {
	case p.Ranges == "" || p.Fault != "":
		return unprovable("there are no ranges that can be read" + elsewhere)
	case p.Made.IsZero() || r.From.IsZero():
		return unprovable("when the ranges were made, or the crawl, is not known")
	}
	age := fmt.Sprintf("made on %s, for a crawl that began on %s", p.Made.UTC().Format(time.DateOnly),
		r.From.UTC().Format(time.DateOnly))
	if r.From.Sub(p.Made) > staleRanges {
		return broken(age, f.shown(p.Ranges, age))
	}
	return kept(age)
}

func checkRangesLink(f *facts, _ *audit.Result) finds {
	switch p := f.published; {
	case p.Page == "":
		return noPage(f)
	case p.RangesLink == "":
		return unprovable("the page has no link element for them; a Link field would not be in the copy" + elsewhere)
	default:
		return kept("a link element leads to " + p.RangesLink)
	}
}

// noPage is for clauses about the crawler's page when no copy of it was given.
func noPage(f *facts) finds {
	s := "an archive does not show the crawler's page, and no copy was given (--bot-page)"
	if pages := f.pages(); len(pages) > 0 {
		s += ": look at " + strings.Join(pages, ", ")
	}
	return unprovable(s + elsewhere)
}

func checkPage(f *facts, _ *audit.Result) finds {
	p := f.published
	switch {
	case p.Page == "":
		return noPage(f)
	case !strings.Contains(strings.ToLower(p.Text), "robots.txt"):
		return broken("the page does not speak of robots.txt, so it does not explain how to block the crawler",
			f.shown(p.Page, "no robots.txt in its text"))
	}
	return unprovable("the page speaks of robots.txt; whether it explains enough is for people to judge")
}

// checkProse is of what people must read.
func checkProse(f *facts, _ *audit.Result) finds {
	if f.published.Page == "" {
		return noPage(f)
	}
	return unprovable("people must read the page: " + f.published.Page)
}

func checkContact(f *facts, _ *audit.Result) finds {
	p := f.published
	if p.Page == "" {
		none := noPage(f)
		for _, a := range f.sent() {
			if strings.Contains(a, "@") {
				none.evidence += "; the User-Agent itself has a mailbox: " + a
				break
			}
		}
		return none
	}
	for _, to := range p.Leads {
		if strings.HasPrefix(strings.ToLower(to), "mailto:") {
			return kept("the page has " + to)
		}
	}
	for word := range strings.FieldsSeq(p.Text) {
		if name, host, ok := strings.Cut(word, "@"); ok && name != "" && strings.Contains(strings.Trim(host, ".,;)>"), ".") {
			return kept("the page has " + word)
		}
	}
	return unprovable("the page has no mailbox; whether it has another contact is for people to judge")
}

func checkExample(f *facts, _ *audit.Result) finds {
	p := f.published
	if p.Page == "" {
		return noPage(f)
	}
	text := strings.ToLower(p.Text)
	if i := strings.Index(text, "user-agent:"); i >= 0 && strings.Contains(text[i:], "disallow:") {
		return kept("the page has lines User-agent and Disallow")
	}
	return broken("the page has no lines User-agent and Disallow", f.shown(p.Page, "no example of a robots.txt"))
}

// shown is a place in a file that was given.
func (f *facts) shown(file, observed string) Example {
	e := Example{Observed: observed}
	e.File = file
	return e
}
