package explain

import (
	"encoding/hex"
	"time"

	"curtsy/crawler/gate"
	"curtsy/frontier/canon"
	"curtsy/robots"
)

// Robots is the host's robots policy and what it says of the URL.
type Robots struct {
	Source   string     `json:"source"` // "crawl", "archive" or "live"; "none" when nothing is known
	URL      string     `json:"url"`    // where it is asked for
	Final    string     `json:"final_url,omitempty"`
	Fetched  *time.Time `json:"fetched,omitempty"` // when the answer that decides came, or was last confirmed
	Expires  *time.Time `json:"expires,omitempty"`
	Valid    bool       `json:"valid"`
	Need     string     `json:"need"` // what must be done before the URL may be judged: "judge", "refresh", "fetch" or "wait"
	Retry    *time.Time `json:"retry,omitempty"`
	Status   int        `json:"status,omitempty"` // of the last exchange
	Failure  string     `json:"failure,omitempty"`
	Fails    int        `json:"failures,omitempty"` // in a row
	Flags    string     `json:"flags,omitempty"`
	SHA256   string     `json:"sha256,omitempty"` // of the file; empty when none decides
	Record   string     `json:"record,omitempty"` // id of the record of the exchange that last said what the policy is
	Standard string     `json:"standard"`         // the standard that holds beside RFC 9309

	Verdict  *Verdict     `json:"verdict"` // null when nothing is known
	Policies []PolicyView `json:"policies,omitempty"`

	delay, rate *float64 // what the policy asks for, in seconds
}

// Verdict is the verdict on the URL.
type Verdict struct {
	Allow    bool   `json:"allow"`
	Reason   string `json:"reason"`
	Line     int    `json:"line,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Group    string `json:"group,omitempty"`
	RunnerUp string `json:"runner_up,omitempty"`
	Token    string `json:"token,omitempty"`
	Standard string `json:"standard,omitempty"`
}

// PolicyView is how one product token reads the file by one standard. A URL must be allowed by all.
type PolicyView struct {
	Token      string          `json:"token"`
	Standard   string          `json:"standard"`
	Named      bool            `json:"named"` // a group names the token; otherwise those of "*" bind
	Group      string          `json:"group,omitempty"`
	Rules      int             `json:"rules"` // that bind
	Target     string          `json:"target"`
	Allow      bool            `json:"allow"`
	Reason     string          `json:"reason"`
	Why        string          `json:"why"`
	Candidates []CandidateView `json:"candidates"` // the rules that match, the one that decides first
	More       int             `json:"more,omitempty"`
}

// CandidateView is a rule that matches.
type CandidateView struct {
	Line    int    `json:"line"`
	Length  int    `json:"length"`
	Allow   bool   `json:"allow"`
	Rule    string `json:"rule"`
	Group   string `json:"group"`
	Pattern string `json:"pattern"`
}

// maxCandidates bounds the candidates of a view: a hostile file may have tens of thousands that match one URL.
const maxCandidates = 50

// Where a policy comes from.
const (
	PolicyNone    = "none"
	PolicyCrawl   = "crawl"   // the crawl's own state
	PolicyArchive = "archive" // told anew from the archive, as of an instant
	PolicyLive    = "live"    // asked for just now, beside the crawl
)

// robotsOf explains what a state, with the rules that it holds, says of u at an instant.
func robotsOf(g *gate.Gate, source string, u canon.URL, s robots.State, r gate.Rules, record string, now time.Time) Robots {
	a := u.Authority().Origin()
	e := Robots{Source: source, URL: gate.PolicyURL(u.Authority()), Record: record, Standard: g.Terms.Standard.String()}
	if s.Failure() == "" && s.Fetched().IsZero() {
		e.Source = PolicyNone
	}
	need := g.Terms.Need(s, a, now)
	e.Need = need.Action.String()
	e.Valid = need.Action == robots.Judge || need.Action == robots.Refresh
	e.Fetched, e.Expires = instantOf(s.Fetched()), instantOf(s.Expires())
	if e.Retry = instantOf(s.Retry()); s.Failures() == 0 {
		e.Retry = nil
	}
	if e.Final = s.FinalURL(); e.Final == e.URL {
		e.Final = ""
	}
	e.Status, e.Failure, e.Fails, e.Flags = s.Status(), s.Failure(), s.Failures(), s.Flags().String()
	if all, ok := s.Verdict(); ok {
		e.Verdict = verdictOf(all, nil)
		return e
	}
	if r.Book == nil {
		return e
	}
	if digest, ok := s.Body(); ok {
		e.SHA256 = hex.EncodeToString(digest[:])
	}
	verdict := r.Book.Match(u.RequestURI())
	for _, x := range r.Book.Explain(u.RequestURI()) {
		if e.Verdict == nil && x.Verdict == verdict {
			e.Verdict = verdictOf(verdict, &x)
		}
		e.Policies = append(e.Policies, viewOf(x))
	}
	e.asks(r.Book)
	return e
}

// asks keeps the pauses that the policy asks for.
func (e *Robots) asks(book *robots.Rulebook) {
	if d, ok := book.CrawlDelay(); ok {
		e.delay = seconds(d)
	}
	if d, ok := book.RequestRate(); ok {
		e.rate = seconds(d)
	}
}

func verdictOf(v robots.Verdict, x *robots.Explanation) *Verdict {
	e := &Verdict{Allow: v.Allowed, Reason: string(v.Reason), Line: v.Line, Rule: v.Rule, Group: v.Group, RunnerUp: v.RunnerUp}
	if x != nil {
		e.Token, e.Standard = x.Token, v.Standard.String()
	}
	return e
}

func viewOf(x robots.Explanation) PolicyView {
	v := PolicyView{
		Token: x.Token, Standard: x.Verdict.Standard.String(), Named: x.Named, Group: x.Group, Rules: x.Rules, Target: x.Target,
		Allow: x.Verdict.Allowed, Reason: string(x.Verdict.Reason), Why: whyDecides(x), Candidates: []CandidateView{},
	}
	for i, c := range x.Candidates {
		if i == maxCandidates {
			v.More = len(x.Candidates) - i
			break
		}
		v.Candidates = append(v.Candidates, CandidateView{c.Line, c.Length, c.Allow, c.Rule, c.Group, c.Pattern})
	}
	return v
}

// whyDecides says in words why the first candidate decides.
func whyDecides(x robots.Explanation) string {
	switch {
	case x.Verdict.Reason == robots.RobotsItself:
		return "robots.txt itself is always allowed (RFC 9309 2.2.2)"
	case x.Group == "":
		return "no group applies: everything is allowed (RFC 9309 2.2.1)"
	case len(x.Candidates) == 0:
		return "no rule matches: allowed (RFC 9309 2.2.2)"
	case len(x.Candidates) == 1:
		return "the only rule that matches"
	case x.Verdict.Standard == robots.Draft1996:
		return "the first rule in the file that matches (1996 3.2.2)"
	case x.Verdict.Standard == robots.Std1994:
		return "any Disallow that matches decides (1994)"
	case x.Candidates[0].Length > x.Candidates[1].Length:
		return "the longest match, in bytes (RFC 9309 2.2.2)"
	case x.Candidates[0].Allow != x.Candidates[1].Allow:
		return "of equally long matches Allow wins (RFC 9309 2.2.2)"
	}
	return "of equally long matches that say the same, the first in the file is named"
}

func instantOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}
