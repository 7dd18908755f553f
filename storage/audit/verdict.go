package audit

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"curtsy/robots/naive"
	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/weburl"
	"curtsy/storage/audit/words"
)

// verdict is what one document says to one token.
type verdict struct {
	token, standard string
	allowed         bool
	line            int
	target          string // without dot segments, where it was sent with some
}

func (v verdict) String() string {
	word := "disallowed"
	if v.allowed {
		word = "allowed"
	}
	if v.line == 0 {
		return word + " for " + v.token + " by no line"
	}
	return word + " for " + v.token + " by line " + strconv.Itoa(v.line) + " (" + v.standard + ")"
}

// verdicts are those of all tokens and documents that bind.
func (a *audit) verdicts(text span, target, agent string) ([]verdict, error) {
	var vs []verdict
	for _, token := range a.tokens(agent) {
		for _, standard := range a.standards() {
			r, err := a.texts.reading(text, token, standard)
			if err != nil {
				return nil, err
			}
			ok, line := r.rules.Allowed(target)
			vs = append(vs, verdict{token: token, standard: standard, allowed: ok, line: line})
		}
	}
	return vs, nil
}

// toldVerdict compares what the crawl says of its verdict with the recomputed ones.
func (a *audit) toldVerdict(h *half, to *host, vs []verdict) error {
	e, l := &h.e, h.e.Line
	if l == nil || !a.ours() || l.Decision != storage.DecisionAllow {
		return nil
	}
	at := func(required, observed string) {
		f := e.finding(finding.Verdict, required, observed)
		f.Place = e.LineAt
		a.report(f)
	}
	want := ""
	if to.policy.kind == ruled {
		want = hex.EncodeToString(to.policy.text.sha[:])
	}
	if l.RobotsSHA256 != want {
		at("judged by the robots.txt valid then: "+known(want), "judged by "+known(l.RobotsSHA256))
		return nil
	}
	if !agrees(vs, l, true) {
		at("the verdict that follows from robots.txt: "+all(vs), "the crawl says: allowed by line "+strconv.Itoa(l.RobotsLine)+" "+strconv.Quote(l.RobotsRule))
		return nil
	}
	if l.Standard != "" && !slices.Contains(a.standards(), l.Standard) {
		at("a verdict by the standard that the archive declares: "+strings.Join(a.standards(), " or "), "the crawl says: by "+strconv.Quote(finding.Short(l.Standard)))
	}
	right, err := a.texts.misquoted(to.policy.text, vs, l, e.Target, true)
	if right != "" {
		at("quotes of robots.txt as they stand there", "it has "+right)
	}
	return err
}

func known(sha string) string {
	if sha == "" {
		return "no rules"
	}
	return "sha256 " + sha
}

func all(vs []verdict) string {
	var s []string
	for _, v := range vs {
		s = append(s, v.String())
	}
	return strings.Join(s, "; ")
}

// agrees reports whether one of the verdicts is what a line of the crawl says.
func agrees(vs []verdict, l *storage.Line, allowed bool) bool {
	if len(vs) == 0 {
		return l.RobotsLine == 0
	}
	return slices.ContainsFunc(vs, func(v verdict) bool { return v.tells(l, allowed) })
}

// tells reports whether v is what a line of the crawl says, but for what it quotes.
func (v verdict) tells(l *storage.Line, allowed bool) bool {
	return v.allowed == allowed && v.line == l.RobotsLine && (l.Standard == "" || l.Standard == v.standard)
}

// refused checks the line of a URL that was not asked for.
func (a *audit) refused(ctx context.Context, l *storage.Line, at finding.Place) error {
	n := max(l.Count, 1)
	a.r.Totals.Refusals += n
	p, err := weburl.Parse(l.URL)
	switch {
	case l.Decision != storage.DecisionDisallow:
	case err != nil:
		a.bad(at, l.URL, "a URL that can be read in the line of a refusal", err.Error()+": "+finding.Short(l.URL))
	default:
		to := a.host(p.Authority)
		to.avoided += n
		a.r.Totals.Disallowed += n
		if err := a.refusal(l, to, p, at); err != nil {
			return err
		}
	}
	for _, w := range a.o.Witnesses {
		if err := w.Refused(ctx, l, at, a.report); err != nil {
			return err
		}
	}
	return nil
}

// refusal recomputes the verdict of a URL that was not asked for because of robots.txt.
func (a *audit) refusal(l *storage.Line, to *host, p weburl.URL, at finding.Place) error {
	if l.RobotsLine == 0 { // full disallow: there is no line to compare
		return nil
	}
	f := finding.Finding{Code: finding.Verdict, Authority: to.name, URL: l.URL, Place: at, Time: l.Time}
	var text span
	for _, t := range []span{to.policy.text, to.before} {
		if t.ok && hex.EncodeToString(t.sha[:]) == l.RobotsSHA256 {
			text = t
		}
	}
	if b, err := hex.DecodeString(l.RobotsSHA256); !text.ok && err == nil && len(b) == 32 {
		text = a.texts.at[[32]byte(b)]
	}
	if !text.ok {
		a.unprove(to, finding.Verdict, "a refusal names a robots.txt that is not in the files", 0, 0)
		return nil
	}
	vs, err := a.verdicts(text, p.Target, "")
	if err != nil {
		return err
	}
	a.r.Totals.Judged++
	if !agrees(vs, l, false) {
		f.Required, f.Observed = "the verdict that follows from robots.txt: "+all(vs), fmt.Sprintf("the crawl says: disallowed by line %d %q", l.RobotsLine, finding.Short(l.RobotsRule))
		a.report(f)
		return nil
	}
	right, err := a.texts.misquoted(text, vs, l, p.Target, false)
	if right != "" {
		f.Required, f.Observed = "quotes of robots.txt as they stand there", "it has "+right
		a.report(f)
	}
	return err
}

// quote is what a verdict about a target quotes. Group and runner-up are recomputed by RFC 9309 alone: certain says so.
func (t *texts) quote(text span, v verdict, target string) (w words.Quote, certain bool, err error) {
	b, err := t.body(text)
	if err != nil {
		return w, false, err
	}
	w.Rule = plain(naive.Written(b, v.line))
	if v.standard != "rfc9309" {
		return w, false, nil
	}
	r, err := t.reading(text, v.token, v.standard)
	if err != nil {
		return w, false, err
	}
	w.Group = plain(naive.Group(b, v.token, v.line))
	w.RunnerUp = plain(naive.Written(b, r.rules.RunnerUp(target)))
	return w, true, nil
}

// misquoted recomputes what a line quotes of the robots.txt that decided, and returns the right words, or "" where the
// line has them. Several verdicts may be what it tells of: one that has its words is enough.
func (t *texts) misquoted(text span, vs []verdict, l *storage.Line, target string, allowed bool) (right string, err error) {
	told := words.Quote{Rule: plain(l.RobotsRule), Group: plain(l.RobotsGroup), RunnerUp: plain(l.RunnerUp)}
	for _, v := range vs {
		if !v.tells(l, allowed) {
			continue
		}
		at := target
		if v.target != "" {
			at = v.target
		}
		w, certain, err := t.quote(text, v, at)
		if err != nil {
			return "", err
		}
		if w == told || !certain && w.Rule == told.Rule || v.line == 0 && told == (words.Quote{}) {
			return "", nil
		}
		right = w.String() + ", and not " + told.String()
	}
	return right, nil
}
