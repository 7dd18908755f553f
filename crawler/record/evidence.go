package record

import (
	"encoding/hex"
	"slices"
	"strings"

	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/storage"
	"curtsy/storage/mediatype"
)

// Evidence is what is archived with a decision. The zero value is no exchange.
type Evidence struct {
	Exchange  *fetch.Exchange
	Outlinks  []storage.Outlink
	HeadOnly  bool              // the answer asks not to be archived: its body is left out, its digest stays (politeness rule 19)
	Page      bool              // of a page, which may be kept as a repeat of an earlier one
	Confirmed *storage.Original // with a 304: the answer that still holds
}

// made reports whether something was sent: an exchange without a connection leaves nothing to archive.
func (e Evidence) made() bool { return e.Exchange != nil && len(e.Exchange.Request) > 0 }

// Describe puts an exchange into a line.
func (e Evidence) Describe(l *storage.Line) {
	ex := e.Exchange
	if ex == nil {
		return
	}
	if e.made() {
		l.Began, l.Took = ex.Start, ex.End.Sub(ex.Start)
	}
	l.Interim = ex.Interim
	l.FirstByte, l.Addr, l.Status, l.Type = ex.ResponseTime, ex.Addr, ex.Status, mediatype.Of(ex.Header).Name
	l.Proxy = ex.Proxy
	if ex.Response != nil {
		l.Octets = ex.Response.Size()
	}
	if e.hasPayload() {
		l.Payload = hex.EncodeToString(ex.PayloadDigest[:])
	}
	l.Truncated = ex.Truncated
	if e.cutsBody() {
		l.Truncated = fetch.CutOther
	}
}

// hasPayload reports whether the digest says something: there was a head, and the answer stands for no other.
func (e Evidence) hasPayload() bool { return e.Exchange.Status != 0 && e.Confirmed == nil }

// cutsBody reports whether HeadOnly leaves something out.
func (e Evidence) cutsBody() bool {
	return e.HeadOnly && e.Exchange.Response != nil && e.Exchange.Response.Size() > e.Exchange.HeadSize
}

// repeatable reports whether the answer may be archived as a repeat of one with the same payload, or be repeated: a whole
// page that was there. An error page is kept as it is, so that no index takes it for the page that it repeats.
func (e Evidence) repeatable() bool {
	ex := e.Exchange
	return e.Page && !e.HeadOnly && ex.Failure == nil && ex.Truncated == "" && ex.Status >= 200 && ex.Status <= 299 && ex.PayloadSize > 0
}

// Outlinks are the links of an answer as they were found: whether they are followed is another matter.
func Outlinks(ex *fetch.Exchange, page extract.Page) []storage.Outlink {
	var out []storage.Outlink
	if a, _ := host.Classify(ex); a == host.Redirected {
		if to, err := ex.URL.Resolve(ex.Header.Get("Location")); err == nil {
			out = append(out, storage.Outlink{URL: to.String(), Kind: storage.KindRedirect})
		}
	}
	out = slices.Grow(out, len(page.Links))
	for _, l := range page.Links {
		kind := storage.KindLink
		if l.Embed {
			kind = storage.KindEmbed
		}
		out = append(out, storage.Outlink{URL: l.URL.String(), Kind: kind})
	}
	return out
}

// Plain is a text of a site as evidence tells it: what is no UTF-8 would be spelled in one way by JSON and in another by WARC.
func Plain(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
