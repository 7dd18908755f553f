package prune

import (
	"strings"
	"unicode/utf8"

	"curtsy/storage/markup"
)

// How little a page shows that is empty without its scripts, and how much script it has.
const (
	littleText = 200     // bytes of text, those of noscript included, white space counted once
	muchScript = 2 << 10 // bytes of a script in the page; a shorter one only redirects, or counts visitors
)

// NeedsScript reports whether a page is empty for whoever runs no scripts: it loads or has a script, and nothing else that
// could be read, looked at, followed or filled in. A page without a doubt is meant: what has a link, a picture, a frame, a
// field or a few sentences is not, whatever its scripts would add. Nor is a page that asks to be left for another one.
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

// empty is a page that was empty so far.
type empty struct {
	page     string
	text     int
	inline   int  // bytes of scripts in the page
	loads    bool // a script that is elsewhere
	noscript int  // elements that are open

	redirects   bool // a short script sets the location
	mayRedirect bool // a long one does
	fills       bool // there is an element that a script could fill
}

// words counts text.
func (e *empty) words(s string) {
	blank := true
	for i := 0; i < len(s) && e.text <= littleText; i++ {
		if c := s[i]; markup.IsSpace(c) {
			blank = true
			continue
		} else if !utf8.RuneStart(c) {
			continue // a letter counts once, of whatever script
		}
		if blank && e.text > 0 {
			e.text++
		}
		blank = false
		e.text++
	}
}

// markup takes a tag or comment; ok is false when the page shows something, or leads elsewhere.
func (e *empty) markup(at int) (next int, ok bool) {
	c := e.page[at+1]
	if c == '/' {
		var name Name
		end := tagEnd(e.page, name.Read(e.page, at+2))
		if string(name.Octets()) == "noscript" {
			e.noscript = max(e.noscript-1, 0)
		}
		return orEnd(end, e.page), true
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
		if e.noscript == 0 { // there it counts visitors
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

func orEnd(end int, s string) int {
	if end < 0 {
		return len(s)
	}
	return end
}

// script takes in a script, unless it is data, a template, or what browsers with modules leave out.
func (e *empty) script(attrs, text string) {
	if containsFold(attrs, "json") || containsFold(attrs, "text/template") || containsFold(attrs, "x-template") || containsFold(attrs, "speculationrules") {
		return
	}
	if containsFold(attrs, "src") {
		e.loads = true
		return
	}
	e.inline += len(strings.TrimSpace(text))
	if setsLocation(text) {
		e.redirects = e.redirects || len(text) < muchScript
		e.mayRedirect = true
	}
}

// setsLocation reports whether a script leads to another page.
func setsLocation(script string) bool {
	for _, to := range []string{"location.replace(", "location.assign(", "location.href=", "location.href =", "location=", "location ="} {
		if strings.Contains(script, to) {
			return true
		}
	}
	return false
}
