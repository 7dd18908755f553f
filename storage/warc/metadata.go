package warc

import (
	"strconv"
	"strings"

	"curtsy/storage"
)

// MaxOutlinks is how many links of a page its metadata record names; how many more there were is said.
const MaxOutlinks = 6000

// appendMetadata appends the block of the metadata record of r: the decision l, with Heritrix's names where it has one,
// and the links found. A field without a value is left out.
func appendMetadata(b []byte, l *storage.Line, r *storage.Record) []byte {
	for _, f := range storage.InMetadata() {
		switch {
		case f.Metadata == payloadField && !r.HeadOnly: // the answer's own record has it
		case f.IsSaid(l):
			b = appendSaid(b, f, l)
		}
	}
	links := r.Outlinks
	written := 0
	for _, o := range links {
		// A URL with white space could not be told from its kind; the canonical ones have none.
		if written == MaxOutlinks || o.URL == "" || !solid(o.URL) {
			continue
		}
		written++
		b = append(append(b, "outlink: "...), o.URL...)
		if o.Kind != "" && solid(string(o.Kind)) {
			b = append(append(b, ' '), o.Kind...)
		}
		b = append(b, "\r\n"...)
	}
	if left := len(links) - written; left > 0 {
		b = append(strconv.AppendInt(append(b, "outlinksLeftOut: "...), int64(left), 10), "\r\n"...)
	}
	return b
}

// payloadField is said only of a body that was left out.
const payloadField = "payloadSha256"

// appendSaid appends what l says in f.
func appendSaid(b []byte, f *storage.Field, l *storage.Line) []byte {
	if lines, ok := f.Lines(l); ok {
		for line := range strings.SplitSeq(lines, "\n") {
			b = appendText(b, f.Metadata, line)
		}
		return b
	}
	from := len(b)
	b = append(append(b, f.Metadata...), ": "...)
	value := len(b)
	if b = f.AppendText(b, l); isPlain(b[value:]) {
		return append(b, "\r\n"...)
	}
	text := string(b[value:])
	return appendText(b[:from], f.Metadata, text)
}

// appendText appends a field whose text may come from anywhere: it stays within its line.
func appendText(b []byte, name, text string) []byte {
	if !isPlain(text) {
		text = oneLine(text)
	}
	return appendField(b, name, text)
}

// isPlain reports whether a text is of printable ASCII alone, as nearly all are.
func isPlain[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}
