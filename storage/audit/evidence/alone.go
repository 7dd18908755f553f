package evidence

import (
	"strings"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// message reports whether a record's block is a message of HTTP, as far as its fields say. Not all writers name a type.
func message(rec *warc.Record) bool {
	media, _, _ := strings.Cut(rec.Fields.Get("Content-Type"), ";")
	media = strings.TrimSpace(media)
	return media == "" || strings.EqualFold(media, "application/http") || strings.EqualFold(media, "message/http")
}

// alone takes a record that holds what a URL gave, and not the exchange that brought it: a resource, a conversion, or
// an answer without its HTTP. It is judged in its turn; a conversion of an answer that is in the files is judged by
// that.
func (rd *Reader) alone(rec *warc.Record, at finding.Place) {
	uri := rec.TargetURI()
	rd.other(rec, at)
	if !IsHTTP(uri) {
		return
	}
	p, err := ParseURL(uri)
	if err != nil {
		rd.unreadable(at, uri, err)
		return
	}
	if of := strings.Trim(rec.Fields.Get("WARC-Refers-To"), "<>"); rec.Type == "conversion" &&
		rd.ids.has(answerTo(finding.Short(of), uri)) {
		return
	}
	h := &partial{Joined: Joined{Alone: rec.Type}}
	h.Exchange = Exchange{Place: at, URL: uri, Authority: p.Authority, Target: p.Target}
	h.Exchange.Began, h.Exchange.Resolution, _ = instant(rec.Fields.Get("WARC-Date"))
	rd.cur.window = append(rd.cur.window, h)
	rd.cur.flush(windowSize)
}

// answerTo stands for an answer with that id to a request for that URL.
func answerTo(id, uri string) string { return id + " " + uri }

// unreadable says that a URL was asked for, or kept, of which nobody can say what rules bind it.
func (rd *Reader) unreadable(at finding.Place, uri string, err error) {
	rd.bad(at, uri, "a WARC-Target-URI that can be read", err.Error()+": "+finding.Short(uri))
}
