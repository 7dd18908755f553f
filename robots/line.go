package robots

import (
	"bytes"
	"strings"
)

const byteOrderMark = "\xEF\xBB\xBF"

// cut returns body without what lies beyond limit. A line that the limit divides is dropped whole: half a rule is
// another rule, and "Disallow: /" may be all that is left of "Disallow: /tmp/".
func cut(body []byte, limit int) []byte {
	if len(body) <= limit {
		return body
	}
	return body[:bytes.LastIndexAny(body[:limit], "\r\n")+1]
}

// span is a part of a text, which is at most a few times MaxBody long.
type span struct{ from, to uint32 }

func (s span) in(text string) string { return text[s.from:s.to] }

func (s span) len() int { return int(s.to - s.from) }

// trim returns s without the white space of RFC 9309 2.2 (WS: space and tab) at both ends.
func (s span) trim(text string) span {
	for s.from < s.to && isBlank(text[s.from]) {
		s.from++
	}
	for s.from < s.to && isBlank(text[s.to-1]) {
		s.to--
	}
	return s
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// lines walks over a text line by line. Lines end in CR, LF or CRLF, mixed at will (RFC 9309 2.2, NL).
type lines struct {
	text   string
	pos    int // where the next line begins
	lf     int // the first LF at or after pos; len(text) when there is none left
	number int // of the line last returned, from 1
}

func newLines(text string) lines {
	return lines{text: text, pos: len(text) - len(strings.TrimPrefix(text, byteOrderMark)), lf: -1}
}

// next returns the next line without its end. Each octet is looked at once for LF and once for CR, whatever ends
// the lines: the position of an LF is kept while CRs come before it.
func (l *lines) next() (line span, ok bool) {
	if l.pos >= len(l.text) {
		return span{}, false
	}
	if l.lf < l.pos {
		l.lf = len(l.text)
		if i := strings.IndexByte(l.text[l.pos:], '\n'); i >= 0 {
			l.lf = l.pos + i
		}
	}
	l.number++
	from, to := l.pos, l.lf
	l.pos = l.lf + 1
	if i := strings.IndexByte(l.text[from:to], '\r'); i >= 0 {
		to = from + i
		if to+1 < l.lf {
			l.pos = to + 1 // the LF is that of a later line
		}
	}
	return span{uint32(from), uint32(to)}, true
}

// record is one line that says something: a field and its value.
type record struct {
	field   field
	value   span // without the white space around it; may be empty
	written span // the line without the white space around it and without a comment
}

// read takes a line apart. A line without a colon is accepted if it is exactly two words: people forget it, and to
// miss a Disallow is the worse error.
func read(text string, line span) (r record, ok bool) {
	if i := strings.IndexByte(line.in(text), '#'); i >= 0 {
		line.to = line.from + uint32(i)
	}
	r.written = line.trim(text)
	if r.written.len() == 0 {
		return r, false
	}
	i := strings.IndexByte(r.written.in(text), ':')
	forgotten := i < 0
	if forgotten {
		i = strings.IndexAny(r.written.in(text), " \t")
	}
	if i < 0 {
		return r, false
	}
	colon := r.written.from + uint32(i)
	r.value = span{colon + 1, r.written.to}.trim(text)
	if forgotten && strings.ContainsAny(r.value.in(text), " \t") {
		return r, false
	}
	r.field = fieldOf(span{r.written.from, colon}.trim(text).in(text))
	return r, r.field != unknown
}

// field is the name of a record.
type field uint8

const (
	unknown field = iota
	userAgent
	allow
	disallow
	crawlDelay
	requestRate
	sitemap
)

// fieldOf recognises a field name in any case, and the misspellings that are common in the wild (the ones that
// google/robotstxt knows, and Crawldelay). It compares whole names: "Disallowed" is none.
func fieldOf(name string) field {
	is := func(s string) bool { return strings.EqualFold(name, s) }
	switch len(name) {
	case 5:
		if is("allow") {
			return allow
		}
	case 7:
		if is("sitemap") {
			return sitemap
		}
		if is("disalow") {
			return disallow
		}
	case 8:
		if is("disallow") || is("dissalow") || is("diasllow") || is("disallaw") {
			return disallow
		}
		if is("site-map") {
			return sitemap
		}
	case 9:
		if is("useragent") {
			return userAgent
		}
		if is("dissallow") {
			return disallow
		}
	case 10:
		if is("user-agent") || is("user agent") {
			return userAgent
		}
		if is("crawldelay") {
			return crawlDelay
		}
	case 11:
		if is("crawl-delay") {
			return crawlDelay
		}
	case 12:
		if is("request-rate") {
			return requestRate
		}
	}
	return unknown
}
