package audit

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// claimedVerdict compares what the crawl says of its verdict with the recomputed ones.
func (j *judge) claimedVerdict(h *evidence.Joined, to *policyHost, vs []evidence.Verdict) error {
	e, l := &h.Exchange, h.Exchange.Line
	if l == nil || !j.m.Ours() || l.Decision != storage.DecisionAllow {
		return nil
	}
	at := func(required, observed string) {
		f := e.Finding(finding.Verdict, required, observed)
		f.Place = e.LineAt
		j.found.Add(f)
	}
	want := ""
	if to.policy.kind == ruled {
		want = hex.EncodeToString(to.policy.text.SHA256[:])
	}
	if l.RobotsSHA256 != want {
		at("judged by the robots.txt valid then: "+known(want), "judged by "+known(l.RobotsSHA256))
		return nil
	}
	if !to.learnedFrom(l.RobotsRecord) {
		at("the record that the robots.txt of "+e.Authority+" valid then was learned from: "+to.policy.record,
			"the crawl recorded: "+finding.Short(l.RobotsRecord))
		return nil
	}
	if !evidence.Agree(vs, l, true) {
		at("the verdict that follows from robots.txt: "+evidence.InWords(vs),
			"the crawl recorded: allowed by line "+strconv.Itoa(l.RobotsLine)+" "+strconv.Quote(l.RobotsRule))
		return nil
	}
	if l.Standard != "" && !slices.Contains(j.m.Standards(), l.Standard) {
		at("a verdict by the standard that the archive declares: "+strings.Join(j.m.Standards(), " or "),
			"the crawl recorded: by "+strconv.Quote(finding.Short(l.Standard)))
	}
	right, err := j.texts.Misquoted(to.policy.text, vs, l, e.Target, true)
	if right != "" {
		at("literal quotes of robots.txt", "it has "+right)
	}
	return err
}

// refusal recomputes the verdict of a URL that was not asked for because of robots.txt.
func (j *judge) refusal(l *storage.Line, to *policyHost, p evidence.URL, at finding.Place) error {
	if l.RobotsLine == 0 { // full disallow: there is no line to compare
		return nil
	}
	f := finding.Finding{Code: finding.Verdict, Authority: p.Authority, URL: l.URL, Place: at, Time: l.Time}
	var text evidence.Text
	for _, t := range []evidence.Text{to.policy.text, to.before} {
		if t.Known && hex.EncodeToString(t.SHA256[:]) == l.RobotsSHA256 {
			text = t
		}
	}
	if b, err := hex.DecodeString(l.RobotsSHA256); !text.Known && err == nil && len(b) == 32 {
		text = j.texts.Find([32]byte(b))
	}
	if !text.Known {
		j.found.Doubt(p.Authority, finding.Verdict, "a refusal names a robots.txt that is not in the files", 0, 0)
		return nil
	}
	vs, err := j.texts.Verdicts(text, p.Target, j.m.Binding(""))
	if err != nil {
		return err
	}
	j.Judged++
	if text == to.policy.text && !to.learnedFrom(l.RobotsRecord) {
		f.Required = "the record that the robots.txt of " + p.Authority + " was learned from: " + to.policy.record
		f.Observed = "the crawl recorded: " + finding.Short(l.RobotsRecord)
		j.found.Add(f)
		return nil
	}
	if !evidence.Agree(vs, l, false) {
		f.Required, f.Observed = "the verdict that follows from robots.txt: "+evidence.InWords(vs),
			fmt.Sprintf("the crawl recorded: disallowed by line %d %q", l.RobotsLine, finding.Short(l.RobotsRule))
		j.found.Add(f)
		return nil
	}
	right, err := j.texts.Misquoted(text, vs, l, p.Target, false)
	if right != "" {
		f.Required, f.Observed = "literal quotes of robots.txt", "it has "+right
		j.found.Add(f)
	}
	return err
}

func known(sha string) string {
	if sha == "" {
		return "no rules"
	}
	return "sha256 " + sha
}
