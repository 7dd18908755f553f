package audit

import (
	"strconv"
	"strings"

	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/rules"
	"curtsy/storage/audit/weburl"
	"curtsy/storage/warc"
)

// message reports whether a record's block is a message of HTTP, as far as its fields say. Not all writers name a type.
func message(rec *warc.Record) bool {
	media, _, _ := strings.Cut(rec.Fields.Get("Content-Type"), ";")
	media = strings.TrimSpace(media)
	return media == "" || strings.EqualFold(media, "application/http") || strings.EqualFold(media, "message/http")
}

// alone takes a record that holds what a URL gave, and not the exchange that brought it: a resource, a conversion, or an
// answer without its HTTP. It is judged in its turn; a conversion of an answer that is in the files is judged by that.
func (a *audit) alone(rec *warc.Record, at finding.Place) {
	uri := rec.TargetURI()
	a.other(rec, at)
	if !weburl.IsHTTP(uri) {
		return
	}
	p, err := weburl.Parse(uri)
	if err != nil {
		a.unreadable(at, uri, err)
		return
	}
	if of := strings.Trim(rec.Fields.Get("WARC-Refers-To"), "<>"); rec.Type == "conversion" && a.ids.has(answerTo(finding.Short(of), uri)) {
		return
	}
	h := &half{alone: rec.Type}
	h.e = Exchange{Place: at, URL: uri, Authority: p.Authority, Target: p.Target}
	h.e.Began, h.e.Resolution, _ = instant(rec.Fields.Get("WARC-Date"))
	a.cur.window = append(a.cur.window, h)
	a.flush(windowSize)
}

// answerTo stands for an answer with that id to a request for that URL.
func answerTo(id, uri string) string { return id + " " + uri }

// keptAlone judges what a URL gave where the exchange is not in the files. That robots.txt forbids it is a violation: the
// archive holds what may not be asked for. The rest cannot be proved, for it may have been had in another way.
func (a *audit) keptAlone(h *half) error {
	e := &h.e
	to := a.host(e.Authority)
	kind := "a " + finding.Short(h.alone) + " record"
	if h.alone == "response" {
		kind = "a response record that is no HTTP"
	}
	if e.asked().IsRobots() {
		a.unprove(to, finding.RobotsMissing, "robots.txt is kept in "+kind+", which does not say how it was had", 0, 0)
		return nil
	}
	vs, err := a.pageVerdicts(to, e.Target, to.asker)
	if err != nil {
		return err
	}
	for _, v := range vs {
		switch {
		case v.Allowed:
		case h.alone == "conversion" && to.before.Known: // of which robots.txt's time nobody says
			a.unprove(to, finding.Disallowed, "a conversion of what robots.txt forbids, or did at some time, whose original is not in the files", 0, 0)
			return nil
		default:
			a.report(e.finding(finding.Disallowed, a.forbidden(to, v), "kept in "+kind+", without the exchange"))
			return nil
		}
	}
	a.unprove(to, finding.Gap, kind+" does not say when it was asked for, nor how", 0, 0)
	return nil
}

// forbidden says in words that v forbids something, and by which line.
func (a *audit) forbidden(to *host, v rules.Verdict) string {
	p := &to.policy
	return "not to be asked for: " + v.String() + " of robots.txt, " + strconv.Quote(a.texts.Line(p.text, v.Line)) + " (record " + p.record + ")"
}

// unreadable says that a URL was asked for, or kept, of which nobody can say what rules bind it.
func (a *audit) unreadable(at finding.Place, uri string, err error) {
	a.bad(at, uri, "a WARC-Target-URI that can be read", err.Error()+": "+finding.Short(uri))
}
