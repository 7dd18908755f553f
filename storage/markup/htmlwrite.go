package markup

import (
	"html"
	"slices"
	"strings"
)

// maxHeld is how many edits of one tag are held back; there are as many references in one that has integrity.
// References beyond stay as they are, and Options.Removed is told of them as unread.
const maxHeld = 1 << 14

// emit makes an edit, or holds it back.
func (h *htmlDoc) emit(e edit) {
	switch {
	case !h.held:
		h.to(e)
	case len(h.edits) < maxHeld:
		h.edits = append(h.edits, e)
	case len(h.edits) == maxHeld:
		h.removed(Removal{Value: excerpt(h.s[e.start:e.end])})
	}
}

// whole writes a value anew, in double quotes.
func (h *htmlDoc) whole(a *attribute, new string) edit {
	new = html.EscapeString(new)
	if h.depth == 0 && a.start == a.outer+1 && h.s[a.outer] == '"' && a.after == a.end+1 {
		return edit{a.start, a.end, new} // those that it has
	}
	text := `"` + new + `"`
	if !a.assigned {
		text = "=" + text
	}
	return edit{a.outer, a.after, text}
}

// part writes parts of a value anew. Without quotes it gets them.
type part struct {
	h       *htmlDoc
	a       *attribute
	m       mapper
	at      int // behind the last edit
	started bool
}

// edit is a sink for edits of the decoded value.
func (p *part) edit(e edit) {
	start := p.a.start + p.m.place(e.start, false)
	end := p.a.start + p.m.place(e.end, true)
	if bare := p.a.outer == p.a.start; bare {
		if !p.started {
			p.h.emit(edit{p.a.start, p.a.start, `"`})
		}
		p.escapeQuotes(start)
	}
	p.started = true
	p.h.emit(edit{start, end, html.EscapeString(e.text)})
	p.at = end
}

func (p *part) finish() {
	if bare := p.a.outer == p.a.start; bare && p.started {
		p.escapeQuotes(p.a.end)
		p.h.emit(edit{p.a.end, p.a.end, `"`})
	}
}

// escapeQuotes escapes what would end a value that gets quotes.
func (p *part) escapeQuotes(end int) {
	for i := p.at; i < end; i++ {
		if p.h.s[i] == '"' {
			p.h.emit(edit{i, i + 1, "&quot;"})
		}
	}
}

// removable returns which attributes of an element go away, and which do if what it refers to is local now.
func (h *htmlDoc) removable(t *tag) (always, ifLocal []string) {
	if h.o.RemovePolicy {
		for _, key := range []string{"ping", "attributionsrc"} {
			if t.attribute(key) != nil {
				always = append(always, key)
			}
		}
	}
	switch {
	case t.foreign:
	case t.name == "base" && h.o.RemoveBase:
		always = []string{"href"}
	case t.name == "meta" && h.o.RemovePolicy &&
		strings.EqualFold(Strip(h.value(t, "http-equiv")), "content-security-policy") && blocksFiles(h.value(t, "content")):
		always = []string{"http-equiv", "content"}
	}
	for _, key := range []string{"crossorigin", "integrity"} {
		if t.attribute(key) != nil {
			ifLocal = append(ifLocal, key)
		}
	}
	return always, ifLocal
}

// release makes the edits that were held back, and takes attributes away: all of a name, for without the first the
// second would be the one that counts.
func (h *htmlDoc) release(t *tag, always, ifLocal []string, local bool) {
	keys := always
	if local {
		keys = append(keys, ifLocal...)
	}
	held := h.edits
	for i := t.attrs; len(keys) > 0; {
		a, ok := nextAttribute(h.s, i)
		if !ok {
			break
		}
		i = a.after
		key := a.keyIn(h.s)
		if !slices.Contains(keys, key) {
			continue
		}
		for len(held) > 0 && held[0].start < a.name {
			h.to(held[0])
			held = held[1:]
		}
		h.removed(Removal{elementName(t), key, excerpt(h.s[a.start:a.end])})
		h.to(edit{a.name, a.after, instead(h.s[a.after:])})
	}
	for _, e := range held {
		h.to(e)
	}
	h.edits = h.edits[:0]
}

// instead returns what stands where an attribute was: nothing, unless a "=" follows, which begins a name there and
// would become the sign of what was before.
func instead(rest string) string {
	for i := range len(rest) {
		switch c := rest[i]; {
		case c == '=':
			return `_=""`
		case c != '/' && !IsSpace(c):
			return ""
		}
	}
	return ""
}
