package markup

import (
	"encoding/binary"
	"regexp"
	"strings"
	"sync"
)

// first returns a sink that makes e where its place comes, among the edits of others, and what makes it in the end.
func first(e edit, to sink) (sink, func()) {
	made := false
	flush := func() {
		if !made {
			made = true
			to(e)
		}
	}
	return func(other edit) {
		if other.start >= e.end {
			flush()
		}
		to(other)
	}, flush
}

// needsName reports whether it matters in which encoding the bytes are read.
func (c coding) needsName(in []byte) bool {
	switch c.Name {
	case "utf-16be", "utf-16le", "iso-2022-jp":
		return true
	case "replacement", "x-user-defined":
		return false // no document can say so
	}
	return !allASCII(in)
}

// allASCII looks at eight bytes at a time: every page is looked at whole.
func allASCII(in []byte) bool {
	for ; len(in) >= 8; in = in[8:] {
		if binary.LittleEndian.Uint64(in)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range in {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// lead writes a byte order mark, which alone can tell UTF-16.
func (s *splicer) lead() bool {
	mark := "\xFE\xFF"
	switch s.c.Name {
	case "utf-16le":
		mark = "\xFF\xFE"
	case "utf-16be":
	default:
		return false
	}
	s.out = append(make([]byte, 0, len(s.in)+len(s.in)/8), mark...)
	return true
}

// reach is within how many bytes a browser looks for a page's charset (HTML Standard 4.2.5.5), less what is written.
const reach = 1024 - 64

// htmlDeclaration writes a meta element: as the first in the head, and before any other, which it overrules.
func htmlDeclaration(s, name string) edit {
	meta := `<meta charset="` + name + `">`
	z := scanner{s: s[:min(len(s), reach)]}
	at := doctypeAt(s)
	z.at = at
	for _, want := range []string{"html", "head"} {
		was := z
		t, ok := z.next()
		if !ok || t.name != want && t.name != "head" {
			z = was
			continue
		}
		at = t.end
	}
	return edit{at, at, meta}
}

var doctype = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)^(?:\s+|<!--.{0,500}?-->)*<!doctype[^>]*>`)
})

// doctypeAt returns where a page's doctype ends; 0 if it has none. Behind anything else than it a page would be shown
// in quirks mode.
func doctypeAt(s string) int {
	if m := doctype().FindStringIndex(s[:min(len(s), reach)]); m != nil {
		return m[1]
	}
	return 0
}

// cssDeclaration writes a @charset. If there is another behind it, that is no more than a rule without meaning.
func cssDeclaration(_, name string) edit { return edit{0, 0, `@charset "` + name + `";`} }

var xmlVersion = regexp.MustCompile(`^<\?xml\s+version\s*=\s*(?:"[^"]*"|'[^']*')(\s+encoding\s*=\s*(?:"[^"]*"|'[^']*'))?`)

// xmlDeclaration writes the XML declaration, or the encoding in the one that there is.
func xmlDeclaration(s, name string) edit {
	encoding := ` encoding="` + name + `"`
	m := xmlVersion.FindStringSubmatchIndex(s[:min(len(s), reach)])
	switch {
	case m == nil && strings.HasPrefix(s, "<?xml") && len(s) > 5 && IsSpace(s[5]):
		return edit{len("<?xml"), len("<?xml"), ` version="1.0"` + encoding}
	case m == nil:
		return edit{0, 0, `<?xml version="1.0"` + encoding + `?>`}
	case m[2] >= 0:
		return edit{m[2], m[3], encoding}
	}
	return edit{m[1], m[1], encoding}
}
