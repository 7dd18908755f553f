package crawltest

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"curtsy/storage/plainly"
)

// Rules is what a crawl is held to. The zero value holds it to everything but a pace of its own.
type Rules struct {
	// Token is the crawler's product token. Zero means "curtsy". Robots groups that name curtsy bind, too.
	Token string

	// Pace is the least time from the end of one exchange with an authority to the start of the next. Zero means none;
	// a Crawl-delay holds all the same.
	Pace time.Duration

	// Width is how many exchanges may be in flight at one authority. Zero means 1.
	Width int

	// Seeds are what the crawl began with, in the web's names. None means Web.Seeds.
	Seeds []string

	// Repeats is how many pages may be fetched again although they were answered: what was in flight when a crawl was
	// killed. Zero means none.
	Repeats int

	// Keys is the key directory of the crawler, by which Signatures judges. Nil is none: then no signature is verified.
	Keys *Directory

	// Spared are sites that a polite crawler may leave before it has seen all of them: Coverage leaves them out.
	Spared map[string]bool

	// Partial says that the crawl was not to reach everything, because a budget or the test cut it short: what is
	// missing is not held against it.
	Partial bool
}

// Rule is the name of a rule that the referee judges.
type Rule string

// The rules, in the order of a Report.
const (
	// RobotsFirst: nothing of an authority is asked for before its robots.txt is there, redirects followed
	// (RFC 9309 2.3).
	RobotsFirst Rule = "robots.txt first"

	// RobotsObeyed: nothing is asked for that the robots.txt last served disallows (RFC 9309 2.2).
	RobotsObeyed Rule = "robots.txt obeyed"

	// RobotsDown: while robots.txt cannot be had, because of 5xx, 429, 408, 425 or an answer broken off, nothing else
	// is asked for (RFC 9309 2.3.1.4).
	RobotsDown Rule = "robots.txt unreachable"

	// RobotsFresh: no robots.txt is used for more than 24 hours (RFC 9309 2.4).
	RobotsFresh Rule = "robots.txt fresh"

	// Pace: Rules.Pace is kept between exchanges with an authority, robots.txt included.
	Pace Rule = "pace"

	// CrawlDelay: so is the Crawl-delay of the robots.txt last served.
	CrawlDelay Rule = "Crawl-delay"

	// InFlight: no more than Rules.Width exchanges with an authority at once.
	InFlight Rule = "exchanges in flight"

	// RetryAfter: after Retry-After on 429, 503, 3xx, or on a robots.txt that cannot be had, nothing is asked of the
	// host before that time is over (RFC 9110 10.2.3, RFC 6585 4). A value that cannot be read, or of more than a
	// year, asks for 24 hours.
	RetryAfter Rule = "Retry-After"

	// Identity: User-Agent carries the product token (RFC 9309 2.2.1) and is the same in all requests.
	Identity Rule = "identity"

	// Signatures: those of Web Bot Auth, if requests carry any, verify by Rules.Keys: they are right, cover the authority
	// that is asked, and are neither over nor of the future (draft-ietf-webbotauth-httpsig-protocol on RFC 9421).
	Signatures Rule = "signatures"

	// Manners: GET and HEAD only, no cookies, no credentials.
	Manners Rule = "manners"

	// NoFollow: nothing is asked for that only links with nofollow lead to.
	NoFollow Rule = "nofollow"

	// Traps: no more of a trap than it forgives.
	Traps Rule = "traps"

	// Scope: nothing is asked for that no link in scope leads to.
	Scope Rule = "scope"

	// Coverage: all is fetched that can be reached and is allowed.
	Coverage Rule = "coverage"

	// Once: nothing is fetched twice, but for retries after 429, 408, 425, 5xx and broken answers.
	Once Rule = "fetched once"
)

// Hostile names the row of a site that misbehaves.
func Hostile(what string) Rule { return Rule("hostile: " + what) }

// Report is what the referee found.
type Report struct {
	Rows     []Row        // one for each Rule, in their order, then one for each of the sites' own (Expect)
	Hosts    []HostReport // one for each site, in the order of the web
	Requests int
	Elapsed  time.Duration // from the first request to the end of the last exchange
}

// Row is the judgement by one rule.
type Row struct {
	Rule     Rule
	Verdict  Verdict
	Checked  int       // facts that the rule was held against
	Evidence string    // what they show, or the first finding
	Findings []Finding // violations, in order of time; empty unless Broken

	// Of a row of the scoreboard: the number of the rule of politeness, 0 for what is asked beside these, and what that rests
	// on, as "RFC 9309 2.3".
	Number int
	Source string
}

// Verdict says whether a rule was kept.
type Verdict string

// The verdicts.
const (
	Kept    Verdict = "kept"
	Broken  Verdict = "BROKEN"
	Unshown Verdict = "not shown" // the log has nothing to judge the rule by
)

// Finding is one violation.
type Finding struct {
	Host, Target string
	At           time.Time // when the request arrived; zero for one that never did
	Text         string    // what was wrong, with the times that prove it, in seconds since the first request
}

// String returns the finding in one line of printable text.
func (f Finding) String() string {
	if f.Host == "" {
		return f.Text // about the crawl as a whole
	}
	return f.Host + clip(f.Target, 60) + ": " + f.Text
}

// HostReport is how one authority was treated.
type HostReport struct {
	Host        string
	Requests    int           // all of them
	Robots      int           // for robots.txt, hops of redirects included
	Pages       int           // distinct targets answered with 2xx
	Gaps        int           // between requests
	Gap         time.Duration // the smallest of them; negative if exchanges overlapped
	Required    time.Duration // its due length: pace or Crawl-delay
	Flying      int           // most exchanges at once
	First, Last time.Time     // start of the first and end of the last exchange
}

// OK reports whether no rule was broken.
func (r Report) OK() bool { return r.Count(Broken) == 0 }

// Count returns how many rows have a verdict.
func (r Report) Count(v Verdict) (n int) {
	for _, row := range r.Rows {
		if row.Verdict == v {
			n++
		}
	}
	return n
}

// Violations returns how many findings all rows have.
func (r Report) Violations() (n int) {
	for _, row := range r.Rows {
		n += len(row.Findings)
	}
	return n
}

// Row returns the judgement by a rule.
func (r Report) Row(rule Rule) Row {
	for _, row := range r.Rows {
		if row.Rule == rule {
			return row
		}
	}
	return Row{Rule: rule, Verdict: Unshown}
}

// Host returns how an authority was treated.
func (r Report) Host(name string) HostReport {
	for _, h := range r.Hosts {
		if h.Host == name {
			return h
		}
	}
	return HostReport{Host: name}
}

// Summary sums up one authority.
func (t *Trial) Summary(name string) HostReport {
	requests := t.hosts[name]
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
		case x.robots:
			r.Robots++
		case x.Status >= 200 && x.Status < 300:
			pages[x.key] = true
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

// mostShown is how many findings of a rule WriteTable prints.
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

// WriteTable prints the verdict: a line for each rule, the findings of those that were broken, a line for each host and
// the sum. It is plain text of at most 100 columns.
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
