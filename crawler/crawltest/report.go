package crawltest

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"curtsy/storage/plainly"
)

// Rules are the demands on a crawl. The zero value demands everything except a pace.
type Rules struct {
	// Token is the crawler's product token. Empty means "curtsy", whose robots groups always bind.
	Token string

	// Pace is the least time from the end of one exchange with an authority to the start of the next, besides Crawl-delay.
	Pace time.Duration

	// Width is how many exchanges may be in flight at one authority. Zero means 1.
	Width int

	// Seeds of the crawl, in the web's names. None means Web.Seeds.
	Seeds []string

	// Repeats is the number of answered pages that may be fetched again: those in flight when a crawl was killed.
	Repeats int

	// Keys is the crawler's key directory, for Signatures. With nil no signature is verified.
	Keys *Directory

	// Spared are sites that Coverage ignores: a polite crawler may leave them early.
	Spared map[string]bool

	// Partial forgives missing pages: a budget or the test cut the crawl short.
	Partial bool
}

// Rule is the name of a rule.
type Rule string

// The rules, in the order of a Report.
const (
	// RobotsFirst: no request to an authority before its robots.txt is known, redirects followed (RFC 9309 2.3).
	RobotsFirst Rule = "robots.txt first"

	// RobotsObeyed: no request that the robots.txt last served disallows (RFC 9309 2.2).
	RobotsObeyed Rule = "robots.txt obeyed"

	// RobotsDown: no other request while robots.txt is unavailable by 5xx, 429, 408, 425 or a broken response
	// (RFC 9309 2.3.1.4).
	RobotsDown Rule = "robots.txt unreachable"

	// RobotsFresh: a robots.txt is used for at most 24 hours (RFC 9309 2.4).
	RobotsFresh Rule = "robots.txt fresh"

	// Pace: Rules.Pace between exchanges with an authority, robots.txt included.
	Pace Rule = "pace"

	// CrawlDelay: the Crawl-delay of the robots.txt last served.
	CrawlDelay Rule = "Crawl-delay"

	// InFlight: at most Rules.Width exchanges with an authority at once.
	InFlight Rule = "exchanges in flight"

	// RetryAfter: Retry-After on 429, 503, 3xx, or on an unavailable robots.txt, is kept (RFC 9110 10.2.3, RFC 6585 4).
	// An invalid value, or one of more than a year, means 24 hours.
	RetryAfter Rule = "Retry-After"

	// Identity: User-Agent carries the product token (RFC 9309 2.2.1) and is the same in all requests.
	Identity Rule = "identity"

	// Signatures: those of Web Bot Auth, if any, verify by Rules.Keys, cover the authority, and are valid at that time
	// (draft-ietf-webbotauth-httpsig-protocol on RFC 9421).
	Signatures Rule = "signatures"

	// Manners: GET and HEAD only, no cookies, no credentials.
	Manners Rule = "manners"

	// NoFollow: no request for a URL with only nofollow links to it.
	NoFollow Rule = "nofollow"

	// Traps: at most Trap.Most requests to each.
	Traps Rule = "traps"

	// Scope: no request for a URL without a link in scope to it.
	Scope Rule = "scope"

	// Coverage: all reachable, allowed pages are fetched.
	Coverage Rule = "coverage"

	// Once: no page is fetched twice, except after 429, 408, 425, 5xx and broken responses.
	Once Rule = "fetched once"
)

func Hostile(what string) Rule { return Rule("hostile: " + what) }

type Report struct {
	Rows     []Row        // one for each Rule, then one for each Expect
	Hosts    []HostReport // one for each site, in the order of the web
	Requests int
	Elapsed  time.Duration // from the first request to the end of the last exchange
}

type Row struct {
	Rule     Rule
	Verdict  Verdict
	Checked  int       // facts examined
	Evidence string    // summary of the facts, or the first finding
	Findings []Finding // violations, in order of time; empty unless Broken

	// For the scoreboard: the number of the politeness rule, 0 for none, and its source, as "RFC 9309 2.3".
	Number int
	Source string
}

type Verdict string

// The verdicts.
const (
	Kept    Verdict = "kept"
	Broken  Verdict = "BROKEN"
	Unshown Verdict = "not shown" // the log has no evidence
)

type Finding struct {
	Host, Target string
	At           time.Time // arrival of the request; zero for one that never came
	Text         string    // with times in seconds since the first request
}

// String returns the finding in one line of printable text.
func (f Finding) String() string {
	if f.Host == "" {
		return f.Text // about the crawl as a whole
	}
	return f.Host + clip(f.Target, 60) + ": " + f.Text
}

type HostReport struct {
	Host        string
	Requests    int           // all of them
	Robots      int           // for robots.txt, hops of redirects included
	Pages       int           // distinct targets answered with 2xx
	Gaps        int           // between requests
	Gap         time.Duration // the smallest of them; negative if exchanges overlapped
	Required    time.Duration // pace or Crawl-delay
	Flying      int           // most exchanges at once
	First, Last time.Time     // start of the first and end of the last exchange
}

func (r Report) OK() bool { return r.Count(Broken) == 0 }

func (r Report) Count(v Verdict) (n int) {
	for _, row := range r.Rows {
		if row.Verdict == v {
			n++
		}
	}
	return n
}

func (r Report) Violations() (n int) {
	for _, row := range r.Rows {
		n += len(row.Findings)
	}
	return n
}

func (r Report) Row(rule Rule) Row {
	for _, row := range r.Rows {
		if row.Rule == rule {
			return row
		}
	}
	return Row{Rule: rule, Verdict: Unshown}
}

func (r Report) Host(name string) HostReport {
	for _, h := range r.Hosts {
		if h.Host == name {
			return h
		}
	}
	return HostReport{Host: name}
}

func (t *Trial) Summary(name string) HostReport {
	requests := t.Hosts[name]
	r := HostReport{Host: name, Requests: len(requests), Required: t.Rules.Pace}
	pages := map[string]bool{}
	for _, x := range requests {
		if r.First.IsZero() {
			r.First = x.Start
		}
		if x.End.After(r.Last) {
			r.Last = x.End
		}
		switch {
		case x.ForRobots:
			r.Robots++
		case x.Status >= 200 && x.Status < 300:
			pages[x.Key] = true
		}
	}
	r.Pages = len(pages)
	for _, g := range Gaps(requests) {
		if r.Gaps++; r.Gaps == 1 || g.Length < r.Gap {
			r.Gap = g.Length
			r.Required = max(t.Rules.Pace, at(t.held[name], g.Next).delay(t.tokens))
		}
	}
	flying(requests, func(_ *Exchange, others []*Exchange) { r.Flying = max(r.Flying, len(others)+1) })
	return r
}

const mostShown = 5

// WriteFindings prints a title and the findings, the first most of them.
func (r Row) WriteFindings(b *bytes.Buffer, title string, most int) {
	if len(r.Findings) > 0 {
		fmt.Fprintf(b, "\n%s:\n", title)
	}
	for _, f := range r.Findings[:min(most, len(r.Findings))] {
		wrap(b, f.String())
	}
	if n := len(r.Findings) - most; n > 0 {
		fmt.Fprintf(b, "  … and %d more\n", n)
	}
}

// WriteTable prints a line for each rule, the first findings of broken rules, a line for each host and the sum, as plain
// text of at most 100 columns.
func (r Report) WriteTable(w io.Writer) error {
	var b bytes.Buffer
	table := func(print func(w io.Writer)) {
		tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		print(tw)
		_ = tw.Flush() // a bytes.Buffer takes everything
	}
	table(func(w io.Writer) {
		fmt.Fprintln(w, "RULE\tVERDICT\tEVIDENCE")
		for _, row := range r.Rows {
			evidence := row.Evidence
			if n := len(row.Findings); n > 0 {
				evidence = plainly.Count(n, "finding") + ", see below"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", row.Rule, row.Verdict, Shorten(evidence, 64))
		}
	})
	for _, row := range r.Rows {
		row.WriteFindings(&b, string(row.Rule), mostShown)
	}
	b.WriteByte('\n')
	table(func(w io.Writer) {
		fmt.Fprintln(w, "HOST\tREQUESTS\tROBOTS\tPAGES\tSMALLEST GAP\tASKED\tAT ONCE")
		for _, h := range r.Hosts {
			gap := "-"
			if h.Gaps > 0 {
				gap = Precise(h.Gap)
			}
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%v\t%d\n", clip(h.Host, 40), h.Requests, h.Robots, h.Pages, gap, h.Required,
				h.Flying)
		}
	})
	verdict := "no violation"
	if !r.OK() {
		verdict = plainly.Count(r.Violations(), "violation")
	}
	fmt.Fprintf(&b, "\n%s in %s: %s\n", plainly.Count(r.Requests, "request"), Seconds(r.Elapsed), verdict)
	_, err := w.Write(b.Bytes())
	return err
}
