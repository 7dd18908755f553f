package prune

import (
	"slices"
	"strings"
	"unicode/utf8"

	"curtsy/storage/markup"
)

const (
	littleText = 200     // characters of text of an empty page, noscript included, white space counted once
	muchScript = 2 << 10 // bytes of inline script; a shorter one only redirects or counts visitors
)

// NeedsScript reports whether a page is certainly empty without scripts: it has a script, but no link, picture, frame,
// field or few sentences, and does not redirect.
func NeedsScript(page string) bool {
	e := empty{page: page}
	for at := 0; at < len(page); {
		lt := markupAt(page, at)
		e.words(page[at:lt])
		if lt == len(page) || e.text > littleText {
			break
		}
		next, ok := e.markup(lt)
		if !ok {
			return false
		}
		at = next
	}
	return e.text <= littleText && !e.redirects && (e.fills || !e.mayRedirect) && (e.loads || e.inline >= muchScript)
}

// empty is a page that has been empty so far.
type empty struct {
	page     string
	text     int
	inline   int  // bytes of inline scripts
	loads    bool // an external script
	noscript int  // open elements

	redirects   bool // a short script sets the location
	mayRedirect bool // a long one does
	fills       bool // a script could fill an element
}

func (e *empty) words(s string) {
	blank := true
	for i := 0; i < len(s) && e.text <= littleText; i++ {
		if c := s[i]; markup.IsSpace(c) {
			blank = true
			continue
		} else if !utf8.RuneStart(c) {
			continue // count characters, not bytes
		}
		if blank && e.text > 0 {
			e.text++
		}
		blank = false
		e.text++
	}
}

// markup takes a tag or comment; ok is false if the page shows something or redirects.
func (e *empty) markup(at int) (next int, ok bool) {
	c := e.page[at+1]
	if c == '/' {
		var name Name
		end := tagEnd(e.page, name.Read(e.page, at+2))
		if string(name.Octets()) == "noscript" {
			e.noscript = max(e.noscript-1, 0)
		}
		if end < 0 {
			end = len(e.page)
		}
		return end, true
	}
	if !markup.IsLetter(c) {
		return commentEnd(e.page, at), true
	}
	var name Name
	attrs := name.Read(e.page, at+1)
	end := tagEnd(e.page, attrs)
	if end < 0 {
		return len(e.page), true
	}
	switch string(name.Octets()) {
	case "html", "head", "body", "link", "base":
	case "script":
		close := markup.RawEnd(e.page, end, "script")
		e.script(e.page[attrs:end], e.page[end:close])
		return close, true
	case "style", "title", "template":
		return markup.RawEnd(e.page, end, string(name.Octets())), true
	case "noscript":
		e.noscript++
	case "meta":
		if containsFold(e.page[attrs:end], "refresh") && e.noscript == 0 {
			return 0, false
		}
	case "frame", "frameset", "textarea", "select", "table", "object", "embed", "audio", "video", "picture", "xmp", "plaintext", "noframes":
		return 0, false
	case "img", "iframe", "image", "svg", "map", "canvas":
		if e.noscript == 0 { // in noscript it counts visitors
			return 0, false
		}
	case "a", "area":
		if e.noscript == 0 && containsFold(e.page[attrs:end], "href") {
			return 0, false
		}
	case "input":
		if !containsFold(e.page[attrs:end], "hidden") {
			return 0, false
		}
	default:
		e.fills = true
	}
	return end, true
}

// script takes a script, unless it is data, a template or speculation rules.
func (e *empty) script(attrs, text string) {
	if containsFold(attrs, "json") || containsFold(attrs, "text/template") || containsFold(attrs, "x-template") || containsFold(attrs, "speculationrules") {
		return
	}
	if containsFold(attrs, "src") {
		e.loads = true
		return
	}
	e.inline += len(strings.TrimSpace(text))
	setsLocation := []string{"location.replace(", "location.assign(", "location.href=", "location.href =", "location=", "location ="}
	if slices.ContainsFunc(setsLocation, func(to string) bool { return strings.Contains(text, to) }) {
		e.redirects = e.redirects || len(text) < muchScript
		e.mayRedirect = true
	}
}
