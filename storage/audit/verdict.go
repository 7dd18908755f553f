package audit

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/rules"
	"curtsy/storage/audit/weburl"
)

// toldVerdict compares what the crawl says of its verdict with the recomputed ones.
func (a *audit) toldVerdict(h *evidence.Joined, to *host, vs []rules.Verdict) error {
	e, l := &h.Exchange, h.Exchange.Line
	if l == nil || !a.ours() || l.Decision != storage.DecisionAllow {
		return nil
	}
	at := func(required, observed string) {
		f := e.Finding(finding.Verdict, required, observed)
		f.Place = e.LineAt
		a.report(f)
	}
	want := ""
	if to.policy.kind == ruled {
		want = hex.EncodeToString(to.policy.text.SHA256[:])
	}
	if l.RobotsSHA256 != want {
		at("judged by the robots.txt valid then: "+known(want), "judged by "+known(l.RobotsSHA256))
		return nil
	}
	if !rules.Agree(vs, l, true) {
		at("the verdict that follows from robots.txt: "+rules.InWords(vs), "the crawl says: allowed by line "+strconv.Itoa(l.RobotsLine)+" "+strconv.Quote(l.RobotsRule))
		return nil
	}
	if l.Standard != "" && !slices.Contains(a.standards(), l.Standard) {
		at("a verdict by the standard that the archive declares: "+strings.Join(a.standards(), " or "), "the crawl says: by "+strconv.Quote(finding.Short(l.Standard)))
	}
	right, err := a.texts.Misquoted(to.policy.text, vs, l, e.Target, true)
	if right != "" {
		at("quotes of robots.txt as they stand there", "it has "+right)
	}
	return err
}

// refused checks the line of a URL that was not asked for.
func (a *audit) refused(ctx context.Context, l *storage.Line, at finding.Place) error {
	n := max(l.Count, 1)
	a.r.Totals.Refusals += n
	p, err := weburl.Parse(l.URL)
	switch {
	case l.Decision != storage.DecisionDisallow:
	case err != nil:
		a.report(finding.Finding{Code: finding.BadRecord, Place: at, URL: l.URL,
			Required: "a URL that can be read in the line of a refusal", Observed: err.Error() + ": " + finding.Short(l.URL)})
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
	var text rules.Text
	for _, t := range []rules.Text{to.policy.text, to.before} {
		if t.Known && hex.EncodeToString(t.SHA256[:]) == l.RobotsSHA256 {
			text = t
		}
	}
	if b, err := hex.DecodeString(l.RobotsSHA256); !text.Known && err == nil && len(b) == 32 {
		text = a.texts.Find([32]byte(b))
	}
	if !text.Known {
		a.unprove(to, finding.Verdict, "a refusal names a robots.txt that is not in the files", 0, 0)
		return nil
	}
	vs, err := a.texts.Verdicts(text, p.Target, a.binding(""))
	if err != nil {
		return err
	}
	a.r.Totals.Judged++
	if !rules.Agree(vs, l, false) {
		f.Required, f.Observed = "the verdict that follows from robots.txt: "+rules.InWords(vs), fmt.Sprintf("the crawl says: disallowed by line %d %q", l.RobotsLine, finding.Short(l.RobotsRule))
		a.report(f)
		return nil
	}
	right, err := a.texts.Misquoted(text, vs, l, p.Target, false)
	if right != "" {
		f.Required, f.Observed = "quotes of robots.txt as they stand there", "it has "+right
		a.report(f)
	}
	return err
}

func known(sha string) string {
	if sha == "" {
		return "no rules"
	}
	return "sha256 " + sha
}
