package robots

import "strings"

// lines walks over a text line by line. Lines end in CR, LF or CRLF, mixed at will (RFC 9309 2.2, NL).
type lines struct {
	text   string
	pos    int // where the next line begins
	cr, lf int // the first of each at or after pos; len(text) when there is none left
	number int // of the line last returned, from 1
}

func newLines(text string) lines {
	return lines{text: text, pos: len(text) - len(strings.TrimPrefix(text, byteOrderMark)), cr: -1, lf: -1}
}

// next returns the next line without its end. Each octet is looked at once for CR and once for LF, whatever ends
// the lines: the position of either is kept while the other comes before it.
func (l *lines) next() (line span, ok bool) {
	if l.pos >= len(l.text) {
		return span{}, false
	}
	if l.cr < l.pos {
		l.cr = l.find('\r')
	}
	if l.lf < l.pos {
		l.lf = l.find('\n')
	}
	l.number++
	line = span{uint32(l.pos), uint32(min(l.cr, l.lf))}
	l.pos = int(line.to) + 1
	if l.cr+1 == l.lf {
		l.pos = l.lf + 1
	}
	return line, true
}

// find returns where c stands at or after pos, or len(text).
func (l *lines) find(c byte) int {
	if i := strings.IndexByte(l.text[l.pos:], c); i >= 0 {
		return l.pos + i
	}
	return len(l.text)
}

// record is one line that says something: a field and its value.
type record struct {
	field     field
	key       span // without the white space around it
	value     span // likewise; may be empty
	written   span // the line without the white space around it and without a comment
	forgotten bool // the colon is missing
}

// withoutComment returns a line up to the "#" (RFC 9309 2.2, EOL).
func (s span) withoutComment(text string) span {
	if i := strings.IndexByte(s.in(text), '#'); i >= 0 {
		s.to = s.from + uint32(i)
	}
	return s
}

// read takes a line without comment apart. A line without a colon is accepted if it is a field that we know and one
// more word: people forget it, and to miss a Disallow is the worse error.
func read(text string, line span) (r record, ok bool) {
	r.written = line.trim(text)
	if r.written.len() == 0 {
		return r, false
	}
	i := strings.IndexByte(r.written.in(text), ':')
	if r.forgotten = i < 0; r.forgotten {
		i = strings.IndexAny(r.written.in(text), " \t")
	}
	if i < 0 {
		return r, false
	}
	colon := r.written.from + uint32(i)
	r.key, r.value = span{r.written.from, colon}.trim(text), span{colon + 1, r.written.to}.trim(text)
	r.field = fieldOf(r.key.in(text))
	return r, !r.forgotten || r.field != unknown && !strings.ContainsAny(r.value.in(text), " \t")
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
	visitTime
	contentUsage  // draft-ietf-aipref-attach
	contentSignal // contentsignals.org
	sitemap
	license // Really Simple Licensing
)

// fieldNames are the names in their right spelling.
var fieldNames = [...]string{"", "User-agent", "Allow", "Disallow", "Crawl-delay", "Request-rate", "Visit-time",
	"Content-Usage", "Content-Signal", "Sitemap", "License"}

func (f field) String() string { return fieldNames[f] }

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
		if is("license") {
			return license
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
		if is("visit-time") {
			return visitTime
		}
	case 11:
		if is("crawl-delay") {
			return crawlDelay
		}
	case 12:
		if is("request-rate") {
			return requestRate
		}
	case 13:
		if is("content-usage") {
			return contentUsage
		}
	case 14:
		if is("content-signal") {
			return contentSignal
		}
	}
	return unknown
}
