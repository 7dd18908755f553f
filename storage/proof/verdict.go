package proof

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
)

// judge recomputes the verdicts of lines, with another parser than the crawler's.
type judge struct {
	r     *Result
	texts map[string]robotsText
	named map[string]bool // texts that a line names

	store    *evidence.Store   // has read the texts
	err      error             // of the store
	tokens   []string          // the product tokens that requests have named
	doubtful []doubt           // not explained by any token so far: a later request may name another
	served   map[string]served // the last robots.txt of each authority
}

type robotsText struct {
	evidence.Text
	body []byte
}

type doubt struct {
	index  int64
	line   storage.Line
	target string
}

// served is the robots.txt that an authority last sent; an unknown one has no digest. Until a line is judged by it, an
// earlier one may hold: it may have been read for another host that redirects to it, and then sets no policy of its own
// authority (RFC 9309 2.3.1.2). The line's public form does not show that.
type served struct {
	text
	before []text // those that may hold in its place
}

type text struct {
	sha string
	at  time.Time
}

const (
	maxDoubts   = 10_000
	maxTokens   = 8
	maxServed   = 1 << 12
	maxBefore   = 8
	lastsAtMost = 24*time.Hour + time.Minute // RFC 9309 2.4, and the audit's grace
)

// take judges a line. h is nil without its heads.
func (j *judge) take(index int64, l *storage.Line, h *Head) {
	target := ""
	if h != nil {
		target = targetOf(h.Request)
		if t := evidence.TokenOf(agentOf(h.Request)); t != "" && len(j.tokens) < maxTokens && !slices.Contains(j.tokens, t) {
			j.tokens = append(j.tokens, t)
		}
	}
	if target == "" {
		if u, ok := evidence.AsWritten(l.URL); ok {
			target = u.Target
		}
	}
	if of, ok := j.texts[l.RobotsSHA256]; ok && !j.named[l.RobotsSHA256] {
		j.named[l.RobotsSHA256] = true
		j.r.Summary.bundled(l.RobotsSHA256, of.body)
	}
	switch {
	case l.Decision == storage.DecisionRobots:
		j.sent(l)
		return
	case l.Decision != storage.DecisionAllow && l.Decision != storage.DecisionDisallow, l.RobotsSHA256 == "":
		return
	}
	proven := j.inForce(index, l)
	switch why, known := j.agrees(l, target); {
	case known && why == "" && proven:
		j.r.Robots.Right++
	case known && why == "":
		j.r.Robots.Unprovable++
	case len(j.doubtful) < maxDoubts:
		j.doubtful = append(j.doubtful, doubt{index, *l, target})
	default:
		j.r.Robots.Unprovable++
	}
}

// sent notes the robots.txt that an authority sent. Another URL has none of its authority: some host's robots.txt redirects there.
func (j *judge) sent(l *storage.Line) {
	at := authority(l.URL)
	last, known := j.served[at]
	if u, ok := evidence.AsWritten(l.URL); !ok || u.Target != "/robots.txt" || !known && len(j.served) >= maxServed {
		return
	}
	now := served{text: text{l.RobotsSHA256, l.Time}, before: last.before}
	if last.sha != "" && last.sha != now.sha {
		now.before = append(now.before, last.text)
	}
	if len(now.before) > maxBefore {
		now = served{}
	}
	j.served[at] = now
}

// inForce compares a line with the last robots.txt of its authority, and reports whether that is proven.
func (j *judge) inForce(index int64, l *storage.Line) bool {
	at := authority(l.URL)
	last, when := j.served[at], l.Time
	if !l.Began.IsZero() {
		when = l.Began
	}
	if last.sha == "" || !when.After(last.at) {
		return true
	}
	if last.sha == l.RobotsSHA256 {
		last.before = nil
		j.served[at] = last
		return true
	}
	for _, t := range last.before {
		if t.sha == l.RobotsSHA256 && when.Sub(t.at) < lastsAtMost {
			last.before = []text{t}
			j.served[at] = last
			return false
		}
	}
	j.r.at(BadVerdict, index, "entry %d was judged by another robots.txt (%.12s…) than the last one of the host (%.12s…)",
		index, l.RobotsSHA256, last.sha)
	return true
}

// agrees recomputes the verdict of a line: "" if it is the same. known reports whether text and crawler's name are known.
func (j *judge) agrees(l *storage.Line, target string) (why string, known bool) {
	of, ok := j.texts[l.RobotsSHA256]
	if !ok || len(j.tokens) == 0 || target == "" {
		return "", false
	}
	want := l.Decision == storage.DecisionAllow
	for _, token := range slices.Backward(j.tokens) {
		if why = j.verdict(l, of.Text, token, target, want); why == "" {
			return "", true
		}
	}
	return why, true
}

// verdict is the verdict for one token, "" if it is the line's. An older standard only adds refusals.
func (j *judge) verdict(l *storage.Line, text evidence.Text, token, target string, want bool) string {
	by := evidence.Measure{Told: evidence.Told{Token: token}, Info: &evidence.Info{Standard: l.Standard}}.Binding("")
	vs, err := j.store.Served(text, target, by)
	forbidden := slices.ContainsFunc(vs, func(v evidence.Verdict) bool { return !v.Allowed })
	if err == nil && (want && forbidden || !evidence.Agree(vs, l, want)) {
		return evidence.InWords(vs)
	}
	right := ""
	if err == nil {
		right, err = j.store.Misquoted(text, vs, l, target, want)
	}
	if j.err == nil {
		j.err = err
	}
	return right
}

func (j *judge) close() {
	for _, d := range j.doubtful {
		switch why, known := j.agrees(&d.line, d.target); {
		case !known:
			j.r.Robots.Unprovable++
		case why == "":
			j.r.Robots.Right++
		default:
			j.r.at(BadVerdict, d.index, "entry %d has: robots.txt %ss %.120q by line %d; recomputed, %s", d.index,
				d.line.Decision, d.line.URL, d.line.RobotsLine, why)
		}
	}
	for sha := range j.texts {
		if !j.named[sha] {
			j.r.found(BadRobots, "%s%s%s is named by no line: nothing proves that the host has sent it", robotsFolder, sha, robotsEnd)
		}
	}
}

func targetOf(request []byte) string {
	line, _, _ := bytes.Cut(request, []byte("\n"))
	_, rest, _ := strings.Cut(strings.TrimSuffix(string(line), "\r"), " ")
	i := strings.LastIndex(rest, " HTTP/")
	if i < 0 || !strings.HasPrefix(rest, "/") {
		return ""
	}
	return rest[:i]
}
