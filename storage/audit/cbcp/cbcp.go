// Package cbcp checks a crawl against each clause of the Internet-Draft "Crawler best practices".
//
// The clauses are those of draft-illyes-webbotauth-cbcp-00 (21 April 2026) and of the editors' copy of 5 October 2026,
// which lowers nearly every MUST to SHOULD. The draft was named draft-illyes-aipref-cbcp before. Version -01 (October
// 2026) came too late for the table. A clause has the level of either text; the higher one counts.
//
// A Judge is a witness of package audit. It sorts the audit's findings about robots.txt, delays and requests by clause, and
// judges caching, X-Robots-Tag and credentials by the heads of the exchanges. Each clause has one check of these facts. It is
// kept only if something shows that; without evidence it is not provable. Numbers that the draft lacks are in
// docs/reference/cbcp.md. Memory grows with hosts, and with URLs up to a bound that the evidence names.
package cbcp

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/plainly"
)

const (
	Draft = "draft-illyes-webbotauth-cbcp"
	Texts = "-00 (21 April 2026) and the editors' copy of 5 October 2026; -01 was not available" // versions of the clauses
)

type Level string

// The levels, from the lowest. A requirement without the capitals of BCP 14 has the lowest.
const (
	Absent Level = ""
	Asks   Level = "asks"
	Should Level = "SHOULD"
	Must   Level = "MUST"
)

type State string

// The states.
const (
	Kept        State = "kept"
	Broken      State = "broken"
	NotProvable State = "not provable"
)

type Clause struct {
	ID      string `json:"id"`      // stable: scripts may rely on it
	Section string `json:"section"` // of the draft
	First   Level  `json:"level_00"`
	Copy    Level  `json:"level_copy"` // in the editors' copy
	Asks    string `json:"asks"`       // in our own words

	How   string `json:"-"` // how it is checked, as in docs/reference/cbcp.md
	check check
}

func (c Clause) Level() Level {
	for _, l := range []Level{Must, Should} {
		if c.First == l || c.Copy == l {
			return l
		}
	}
	return Asks
}

type check func(f *facts, r *audit.Result) finds

type Result struct {
	Draft   string   `json:"draft"`
	Texts   string   `json:"texts"`
	Kept    int      `json:"kept"`
	Broken  int      `json:"broken"`
	Musts   int      `json:"broken_musts"` // of those broken
	Unknown int      `json:"not_provable"`
	Clauses []Judged `json:"clauses"`
}

type Judged struct {
	Clause

	Level    Level     `json:"level"`
	State    State     `json:"state"`
	Evidence string    `json:"evidence"`
	Examples []Example `json:"examples,omitempty"` // a few of the violations
}

// Example is a place where a clause is broken. Its texts come from the archive: escape them.
type Example struct {
	finding.Place

	URL      string    `json:"url,omitempty"`
	Time     time.Time `json:"time,omitzero"`
	Observed string    `json:"observed"`
}

const maxExamples = 5 // of a clause

// Conclude judges the clauses after the audit. names are the names to show files by; others keep theirs.
func (j *Judge) Conclude(r *audit.Result, names map[string]string) *Result {
	out := &Result{Draft: Draft, Texts: Texts}
	for _, c := range clauses {
		f := c.check(&j.facts, r)
		f.examples = slices.Clone(f.examples) // facts may show them twice
		for i := range f.examples {
			e := &f.examples[i]
			e.URL, e.Observed = finding.Short(e.URL), finding.Short(e.Observed)
			if name, ok := names[e.File]; ok {
				e.File = name
			}
		}
		switch f.state {
		case Kept:
			out.Kept++
		case Broken:
			if out.Broken++; c.Level() == Must {
				out.Musts++
			}
		default:
			out.Unknown++
		}
		out.Clauses = append(out.Clauses, Judged{c, c.Level(), f.state, finding.Short(f.evidence), f.examples})
	}
	return out
}

// Published is what the operator publishes about the crawler, in copies given to the audit, which requests no URL.
type Published struct {
	Page       string   // the file with the crawler's page; "" for none
	Text       string   // its visible text
	Leads      []string // targets of its links
	RangesLink string   // target of its link element of relation client-ranges; "" for none

	Ranges   string // the file with the address ranges; "" for none
	Fault    string // why they are unreadable
	Prefixes int
	Made     time.Time // by their own record
}

const (
	staleRanges = 7 * 24 * time.Hour // how much older than the crawl ranges may be: draft-illyes-aipref-cbcp-00 had seven days
	maxNamed    = 3                  // User-Agents that a text names

	elsewhere  = "; curtsy identity check URL looks there"
	noRequests = "the archive has no request records, so what was sent is unknown"
	noPages    = "no URL except robots.txt was requested"
	noAgents   = "no User-Agent was archived"
	noExchange = "the archive has no request"
)

// finds is the result of a check; the zero value is empty.
type finds struct {
	state    State
	evidence string
	examples []Example
}

func decided(cases ...finds) finds {
	return cases[slices.IndexFunc(cases, func(f finds) bool { return f.state != "" })]
}

func kept(evidence string) finds { return finds{state: Kept, evidence: evidence} }

func unprovable(when bool, evidence string) finds {
	if !when {
		return finds{}
	}
	return finds{state: NotProvable, evidence: evidence}
}

func broken(when bool, evidence string, examples ...Example) finds {
	if !when {
		return finds{}
	}
	return finds{state: Broken, evidence: evidence, examples: examples[:min(len(examples), maxExamples)]}
}

// violations counts the violations of codes that the audit found, and returns the first.
func violations(r *audit.Result, codes ...finding.Code) (n int64, first []Example) {
	for _, c := range r.Counts {
		if slices.Contains(codes, c.Code) {
			n += c.Found - c.Notes
		}
	}
	for _, f := range r.Findings {
		if slices.Contains(codes, f.Code) && !f.Note {
			add(&first, Example{Place: f.Place, URL: f.URL, Time: f.Time, Observed: f.Observed + "; required: " + f.Required})
		}
	}
	return n, first
}

func violated(r *audit.Result, unit, wrong string, codes ...finding.Code) finds {
	n, first := violations(r, codes...)
	return broken(n > 0, plainly.Count(n, unit)+wrong, first...)
}

// doubted is not provable if the audit could not make checks of codes: it has their number and the first reason.
func doubted(r *audit.Result, unit string, codes ...finding.Code) finds {
	n, why := int64(0), ""
	for _, h := range r.Hosts {
		for _, u := range h.Why {
			if !slices.Contains(codes, u.What) {
				continue
			}
			if n == 0 {
				why = h.Authority + ": " + u.Why
			}
			n += u.Count
		}
	}
	return unprovable(n > 0, plainly.Count(n, unit)+" cannot be judged; "+why)
}

func never(why string) check {
	return func(*facts, *audit.Result) finds { return unprovable(true, why) }
}

func (f *facts) sent() []string { return slices.Sorted(maps.Keys(f.agents)) }

func (f *facts) sentText() string {
	all := f.sent()
	text := strings.Join(all[:min(len(all), maxNamed)], " | ")
	if len(all) > maxNamed {
		text += fmt.Sprintf(" and %d more", len(all)-maxNamed)
	}
	return finding.Short(text)
}

// wrong are the User-Agents that why rejects, and how many requests they were sent with.
func (f *facts) wrong(why func(agent string) string) (n int64, examples []Example) {
	for _, name := range f.sent() {
		if s := why(name); s != "" {
			a := f.agents[name]
			n += a.n
			e := a.first
			e.Observed += ": " + s
			add(&examples, e)
		}
	}
	return n, examples
}

func (f *facts) pages() (all []string) {
	for _, a := range f.sent() {
		if u := finding.Short(urlIn(a)); u != "" && !slices.Contains(all, u) && len(all) < maxNamed {
			all = append(all, u)
		}
	}
	return all
}

// bound notes that not all URLs were followed, if so.
func (f *facts) bound() string {
	if f.lost == 0 {
		return ""
	}
	return fmt.Sprintf("; of the first %d URLs, with %s beyond", maxURLs, plainly.Count(f.lost, "request"))
}

// noPage is not provable, of clauses about the crawler's page, when no copy of it was given.
func (f *facts) noPage() finds {
	s := "an archive does not show the crawler's page, and no copy was given (--bot-page)"
	if pages := f.pages(); len(pages) > 0 {
		s += ": look at " + strings.Join(pages, ", ")
	}
	return unprovable(f.published.Page == "", s+elsewhere)
}

func shown(file, observed string) Example {
	return Example{Place: finding.Place{File: file}, Observed: observed}
}

// mailbox is the first that the crawler's page has, or "".
func (p Published) mailbox() string {
	for _, to := range p.Leads {
		if strings.HasPrefix(strings.ToLower(to), "mailto:") {
			return to
		}
	}
	for word := range strings.FieldsSeq(p.Text) {
		if name, host, ok := strings.Cut(word, "@"); ok && name != "" && strings.Contains(strings.Trim(host, ".,;)>"), ".") {
			return word
		}
	}
	return ""
}

func checkRangesLink(f *facts, _ *audit.Result) finds {
	return decided(f.noPage(),
		unprovable(f.published.RangesLink == "", "the page has no link element for them; a Link field would not be in the copy"+elsewhere),
		kept("a link element leads to "+f.published.RangesLink))
}

func checkProse(f *facts, _ *audit.Result) finds {
	return decided(f.noPage(), unprovable(true, "people must read the page: "+f.published.Page))
}

func Clauses() []Clause { return slices.Clone(clauses) }

var clauses = []Clause{
	{"rep", "2.1", Must, Should, "support and respect the Robots Exclusion Protocol",
		"the audit's codes robots-missing, robots-expired, robots-unreachable and disallowed",
		func(_ *facts, r *audit.Result) finds {
			codes := []finding.Code{finding.RobotsMissing, finding.RobotsExpired, finding.RobotsUnreachable, finding.Disallowed}
			return decided(violated(r, "request", " against robots.txt", codes...), doubted(r, "request", codes...),
				unprovable(r.Totals.Judged == 0, "no request to compare with a robots.txt"),
				kept(fmt.Sprintf("%s recomputed from %s for robots.txt; %s avoided that it forbids",
					plainly.Count(r.Totals.Judged, "verdict"), plainly.Count(r.Totals.Robots, "request"),
					plainly.Count(r.Totals.Disallowed, "URL"))))
		}},
	{"x-robots-tag", "2.1", Asks, Asks, "respect X-Robots-Tag in answers",
		"heads of answers: with noarchive, the body is not in the archive; with nofollow or none, no link of " +
			"that page was requested, according to metadata (via)",
		func(f *facts, _ *audit.Result) finds {
			answers := plainly.Count(f.tagged, "answer") + " with X-Robots-Tag"
			return decided(
				broken(len(f.keptBodies)+len(f.followed) > 0, "X-Robots-Tag was not obeyed", slices.Concat(f.keptBodies, f.followed)...),
				unprovable(f.tagged == 0, "no response has an X-Robots-Tag for this crawler"),
				unprovable(f.depths == 0, answers+": no forbidden body is archived, but the metadata does not have the page that led to a URL"),
				kept(answers+": no body is kept and no link followed that must not be"))
		}},
	{"identifiable", "2.2, 2.6", Must, Should, "identify the crawler in the User-Agent",
		"the audit's code user-agent",
		func(f *facts, r *audit.Result) finds {
			return decided(violated(r, "request", " or warcinfo records do not identify the crawler", finding.UserAgent),
				unprovable(f.requests == 0, noRequests), kept(plainly.Count(f.requests, "request")+" with "+f.sentText()))
		}},
	{"unique-name", "2.2", Must, Must, "have identifiers in the User-Agent that no other crawler has",
		"each User-Agent has a product token that is not a browser's, not the name of a well-known crawler with " +
			"another domain, and not a common library's or tool's without an address beside it",
		func(f *facts, _ *audit.Result) finds {
			n, examples := f.wrong(anonymous)
			n += f.agentless
			var names []string
			for _, a := range f.sent() {
				names = appendNew(names, evidence.TokenOf(a))
			}
			text := plainly.Count(n, "request") + " could be of another crawler"
			if f.agentless > 0 {
				text += fmt.Sprintf("; %d without a User-Agent", f.agentless)
			}
			return decided(unprovable(f.requests == 0, noRequests), broken(n > 0, text, examples...),
				kept(plainly.Count(f.requests, "request")+" as "+finding.Short(strings.Join(names[:min(len(names), maxNamed)], ", "))))
		}},
	{"description-url", "2.2", Should, Should, "lead to the crawler's description by a URL in the User-Agent",
		"each User-Agent has an http or https URL",
		func(f *facts, _ *audit.Result) finds {
			n, examples := f.wrong(func(agent string) string {
				if urlIn(agent) == "" {
					return "no URL in it"
				}
				return ""
			})
			return decided(unprovable(len(f.agents) == 0, noAgents),
				broken(n > 0, plainly.Count(n, "request")+" without a URL in the User-Agent", examples...),
				kept("each User-Agent leads to "+strings.Join(f.pages(), ", ")))
		}},
	{"owner-purpose", "2.2", Should, Should, "name owner and purpose as far as possible",
		"the names are shown; whether they are clear is for people to judge",
		func(f *facts, _ *audit.Result) finds {
			return decided(unprovable(len(f.agents) == 0, noAgents),
				unprovable(true, "people must judge whether these names show owner and purpose: "+f.sentText()))
		}},
	{"back-out", "2.3", Must, Should, "back out when the server fails (RFC 9110 15.6)",
		"the audit's code retry-after; after three responses of 429 or 5xx in a row the delay is longer than the " +
			"host's usual one by a fifth, or a minute, or the crawl stops",
		func(f *facts, r *audit.Result) finds {
			n, first := violations(r, finding.RetryAfter)
			return decided(
				broken(n > 0 || len(f.overloads) > 0, "the crawl continued although the server failed or requested a delay", append(first, f.overloads...)...),
				unprovable(f.failures == 0, "no answer was 429 or 5xx"), doubted(r, "required delay", finding.RetryAfter),
				kept(fmt.Sprintf("%s of 429 or 5xx; each Retry-After was obeyed, and no %d came in a row without a longer delay",
					plainly.Count(f.failures, "answer"), streakMin)))
		}},
	{"response-time", "2.3", Asks, Asks, "slow down when answers take longer",
		"metadata of requests whose delay the response time decided",
		func(f *facts, _ *audit.Result) finds {
			return decided(unprovable(f.byResponse == 0, "no delay has the response time as its reason"),
				kept(plainly.Count(f.byResponse, "delay")+" that the response time decided"))
		}},
	{"visit-log", "2.3", Should, Should, "log URLs, requests and statuses",
		"each answer in the archive has its request; a ledger agrees with it",
		func(f *facts, r *audit.Result) finds {
			n, first := violations(r, finding.LedgerMissing, finding.LedgerExtra, finding.LedgerDiffers)
			exchanges, agree := plainly.Count(f.exchanges, "request"), finds{}
			if r.Ledger != nil {
				agree = kept(plainly.Count(r.Ledger.Lines, "line") + " of the ledger agree with " + plainly.Count(f.exchanges, "archived request"))
			}
			return decided(broken(n > 0, "ledger and archive differ "+plainly.Count(n, "time"), first...),
				unprovable(f.exchanges == 0, noExchange), agree,
				unprovable(f.requests < f.exchanges, fmt.Sprintf("%d of %s have no request record, and no ledger exists",
					f.exchanges-f.requests, exchanges)),
				kept(fmt.Sprintf("%s archived with URL and request, %d with status", exchanges, f.answered)))
		}},
	{"off-hours", "2.3", Should, Should, "crawl when a site has few visitors, if possible",
		"requests by hour (UTC) are shown; the visitors of a site are not in an archive",
		func(f *facts, _ *audit.Result) finds {
			var hours []string
			for h, n := range f.hours {
				if n > 0 {
					hours = append(hours, fmt.Sprintf("%02d h: %d", h, n))
				}
			}
			return decided(unprovable(len(hours) == 0, noExchange),
				unprovable(true, "an archive does not show when a site has few visitors; requests by hour, UTC: "+strings.Join(hours, ", ")))
		}},
	{"one-at-a-time", "2.3", Should, Should, "do not send several requests for a resource at once",
		"the audit's code in-flight",
		func(f *facts, r *audit.Result) finds {
			open := finds{}
			if i := slices.IndexFunc(r.Hosts, func(h *audit.Host) bool { return h.StartToStart }); i >= 0 {
				open = unprovable(true, "the archive does not record when responses ended, as with "+r.Hosts[i].Authority)
			}
			return decided(violated(r, "request", " started while another to the host was in flight", finding.InFlight),
				doubted(r, "request", finding.InFlight),
				open, unprovable(r.Totals.Gaps == 0, "no host got two requests"),
				kept("one request at a time to each of "+plainly.Count(int64(len(f.servers)), "host")))
		}},
	{"speed", "2.3", Should, Should, "limit the speed, by the limits that robots.txt sets",
		"the audit's codes gap and address-pace",
		func(_ *facts, r *audit.Result) finds {
			least, where, limited := 0.0, "", false
			for _, h := range r.Hosts {
				limited = limited || h.Required > 0 && h.Gaps > 0
				if h.Gaps > 0 && (where == "" || h.MinGap < least) {
					least, where = h.MinGap, h.Authority
				}
			}
			return decided(violated(r, "pause", " too short", finding.Gap, finding.AddressPace),
				doubted(r, "pause", finding.Gap, finding.AddressPace), unprovable(where == "", "no host got two requests"),
				unprovable(!limited, fmt.Sprintf("no site set a limit, and the draft names none; the shortest delay was %s (%s)", plainly.Seconds(least), where)),
				kept(fmt.Sprintf("%s measured, none shorter than due; the shortest was %s (%s)", plainly.Count(r.Totals.Gaps, "delay"), plainly.Seconds(least), where)))
		}},
	{"re-crawl", "2.3", Should, Should, "do not crawl a resource again too often",
		"no URL with a usable response is requested more than twice within the next 24 hours",
		func(f *facts, _ *audit.Result) finds {
			return decided(
				broken(len(f.soon) > 0, fmt.Sprintf("URLs with a usable response were requested more than %d times in the following day",
					oftenMax), f.soon...),
				unprovable(len(f.visits) == 0, noPages),
				kept(fmt.Sprintf("%s, %s with an earlier usable response%s",
					plainly.Count(int64(len(f.visits)), "URL"), plainly.Count(f.again, "request"), f.bound())))
		}},
	{"loops", "2.3", Should, Should, "bound depth and requests per resource against loops",
		"no URL is requested more than 20 times; the depth is that of the metadata",
		func(f *facts, _ *audit.Result) finds {
			depth := "the depth is not recorded"
			if f.depths > 0 {
				depth = plainly.Count(int64(f.deepest), "link") + " deep at most"
			}
			return decided(broken(f.mostN > loopMax, fmt.Sprintf("a URL was requested %d times", f.mostN), f.most),
				unprovable(len(f.visits) == 0, noPages),
				kept(fmt.Sprintf("no URL was requested more than %s; %s%s", plainly.Count(int64(f.mostN), "time"), depth, f.bound())))
		}},
	{"access", "2.3", Should, Should, "do not get around logins, CAPTCHAs and paywalls",
		"heads of requests: no Authorization and no Proxy-Authorization",
		func(f *facts, _ *audit.Result) finds {
			return decided(broken(f.nSecret > 0, plainly.Count(f.nSecret, "request")+" with credentials", f.secrets...),
				unprovable(f.requests == 0, noRequests),
				unprovable(f.cookies > 0, plainly.Count(f.cookies, "request")+" with cookies: an archive does not show what they give access to"),
				kept(plainly.Count(f.requests, "request")+" without credentials and cookies"))
		}},
	{"get", "2.3", Should, Should, "use GET unless the publisher agreed to other methods",
		"the audit's code method",
		func(f *facts, r *audit.Result) finds {
			return decided(violated(r, "request", " by another method", finding.Method),
				unprovable(f.requests == 0, noRequests), kept(plainly.Count(f.requests, "request")+" by GET or HEAD"))
		}},
	{"scripts", "2.3", Asks, Asks, "avoid the load of running client-side code",
		"an archive does not show why a URL was requested",
		never("an archive does not show whether a script or a link caused a request")},
	{"caching", "2.4", Must, Should, "support caching directives (RFC 9111)",
		"heads of messages: a URL with a stored response is requested again only by a conditional request, or " +
			"when that response is stale and had no validator; robots.txt has separate rules (rep)",
		func(f *facts, _ *audit.Result) finds {
			none := finds{}
			if f.repeats == 0 {
				none = kept("no URL with a storable response was requested again")
			}
			return decided(
				broken(f.nWasted > 0, fmt.Sprintf("%s that a cache would have spared or made conditional, of %d repeated",
					plainly.Count(f.nWasted, "request"), f.repeats), f.wasted...),
				unprovable(f.requests == 0, noRequests), unprovable(len(f.visits) == 0, noPages), none,
				kept(fmt.Sprintf("%s for URLs with a stored answer, %d of them conditional; no other had a fresh one or a validator",
					plainly.Count(f.repeats, "request"), f.conditional)))
		}},
	{"ranges", "2, 2.5", Must, Should, "publish the address ranges of the crawler in JAFAR format",
		"a copy (`--bot-ranges`) can be read, and names a range",
		func(f *facts, _ *audit.Result) finds {
			p := f.published
			return decided(
				unprovable(p.Ranges == "", "an archive does not show the ranges, and no copy was given (--bot-ranges)"+elsewhere),
				broken(p.Fault != "", "they are not in JAFAR format: "+p.Fault, shown(p.Ranges, p.Fault)),
				broken(p.Prefixes == 0, "they name no range", shown(p.Ranges, "no range")),
				kept(plainly.Count(int64(p.Prefixes), "range")+" in the copy; whether requests came from there only sites know"))
		}},
	{"ranges-current", "2.5", Should, Should, "keep the ranges up to date",
		"the copy was made seven days before the crawl at most",
		func(f *facts, r *audit.Result) finds {
			p := f.published
			age := "made on " + p.Made.UTC().Format(time.DateOnly) + ", for a crawl that began on " + r.From.UTC().Format(time.DateOnly)
			return decided(unprovable(p.Ranges == "" || p.Fault != "", "no readable ranges"+elsewhere),
				unprovable(p.Made.IsZero() || r.From.IsZero(), "when the ranges were made, or the crawl, is not known"),
				broken(r.From.Sub(p.Made) > staleRanges, age, shown(p.Ranges, age)), kept(age))
		}},
	{"ranges-linked", "2.5", Must, Should, "link the ranges from the crawler's page as client-ranges",
		"a copy of the page (`--bot-page`) has that link; a Link field would not be in it", checkRangesLink},
	{"ranges-found", "2.5", Should, Should, "give that link in a Link field or a link element", "as ranges-linked",
		checkRangesLink},
	{"page", "2", Must, Should, "have a page on blocking, rendering and use of data",
		"a copy of the page that does not speak of robots.txt breaks it; the rest is for people to judge",
		func(f *facts, _ *audit.Result) finds {
			p := f.published
			return decided(f.noPage(),
				broken(!strings.Contains(strings.ToLower(p.Text), "robots.txt"), "the page does not speak of robots.txt, so it does "+
					"not explain how to block the crawler", shown(p.Page, "no robots.txt in its text")),
				unprovable(true, "the page speaks of robots.txt; whether it explains enough is for people to judge"))
		}},
	{"data-use", "2.6", Must, Should, "explain the use of the data", "people must read the page", checkProse},
	{"contact", "2.6", Should, Should, "give the owner's contact address on that page",
		"the copy of the page has a mailbox",
		func(f *facts, _ *audit.Result) finds {
			none, box := f.noPage(), f.published.mailbox()
			if i := slices.IndexFunc(f.sent(), func(a string) bool { return strings.Contains(a, "@") }); i >= 0 {
				none.evidence += "; the User-Agent itself has a mailbox: " + f.sent()[i]
			}
			return decided(none, unprovable(box == "", "the page has no mailbox; whether it has another contact is for people to judge"),
				kept("the page has "+box))
		}},
	{"example", "2.6", Should, Should, "show a robots.txt that blocks the crawler",
		"the copy of the page has a line User-agent, and a line Disallow after it",
		func(f *facts, _ *audit.Result) finds {
			_, behind, _ := strings.Cut(strings.ToLower(f.published.Text), "user-agent:")
			return decided(f.noPage(),
				broken(!strings.Contains(behind, "disallow:"), "the page has no lines User-agent and Disallow",
					shown(f.published.Page, "no example of a robots.txt")),
				kept("the page has lines User-agent and Disallow"))
		}},
	{"verifying", "2.6", Should, Should, "offer a way to verify a robots.txt", "people must read the page", checkProse},
	{"exemption", "2.6", Should, Should, "give reasons on that page for practices not followed",
		"people must read the page", checkProse},
	{"reachable", "2.6", Asks, Asks, "keep page and ranges available and fast", "no archive shows it",
		never("an archive does not show how page and ranges are served")},
	{"https", "4", Absent, Should, "serve page and ranges by https",
		"the URLs in User-Agents have the scheme https",
		func(f *facts, _ *audit.Result) finds {
			n, examples := f.wrong(func(agent string) string {
				if strings.HasPrefix(strings.ToLower(urlIn(agent)), "http:") {
					return "its page is not served by https"
				}
				return ""
			})
			return decided(unprovable(len(f.pages()) == 0, "no User-Agent has a URL"),
				broken(n > 0, plainly.Count(n, "request")+" that lead to a page by http", examples...),
				kept("the URLs in User-Agents have https; where they redirect to is not known"))
		}},
}
