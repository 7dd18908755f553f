package extract

import (
	"io"
	"net/http"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Directives is what a page asks of robots, in meta elements and X-Robots-Tag fields, as far as it is addressed to
// everyone, to our token or to "curtsy" (politeness rules 1 and 19). What one of them forbids another cannot allow:
// index, follow and all do nothing.
type Directives struct {
	NoIndex   bool // noindex, none
	NoFollow  bool // nofollow, none
	NoArchive bool // noarchive; nocache, which means the same
	// Raw is what was read, as it was written after "X-Robots-Tag: " or "meta NAME: ": at most 16 texts of at most
	// 256 octets.
	Raw []string
}

const (
	maxRaw      = 16
	maxRawText  = 256
	everyone    = "robots" // the name that addresses all robots; in a field also "*"
	ourselves   = "curtsy" // binds whatever the product token
	fieldPrefix = "X-Robots-Tag: "
)

// HeaderDirectives reads the X-Robots-Tag fields of an answer, which may be of any media type.
func HeaderDirectives(h http.Header, token string) Directives {
	var d Directives
	for _, value := range h.Values("X-Robots-Tag") {
		d.field(value, token)
	}
	return d
}

// field reads one field. A name with a colon addresses what follows, up to the next such name:
//
//	noindex, nofollow
//	otherbot: noindex, nofollow, curtsy: noarchive
//	unavailable_after: Wed, 03 Nov 2027 15:00:00 GMT, noarchive
func (d *Directives) field(value, token string) {
	bound, read := true, false
	for part := range strings.SplitSeq(value, ",") {
		if name, rest, ok := strings.Cut(part, ":"); ok && isRobotName(strip(name)) {
			name = strip(name)
			bound, part = name == "*" || binds(name, token), rest
		}
		if bound {
			read = true
			d.words(part)
		}
	}
	if read {
		d.keep(fieldPrefix + value)
	}
}

// meta reads a meta element.
func (d *Directives) meta(name, content, token string) {
	if name = strip(name); !binds(name, token) {
		return
	}
	for part := range strings.SplitSeq(content, ",") {
		d.words(part)
	}
	d.keep("meta " + name + ": " + content)
}

// scan reads the meta elements of a page that has no tree. Where they stand is not looked at: what is not a page's
// may bind too much, not too little.
func (d *Directives) scan(r io.Reader, token string) {
	z := html.NewTokenizer(r)
	for z.Next() != html.ErrorToken {
		if t := z.Token(); t.DataAtom == atom.Meta && (t.Type == html.StartTagToken || t.Type == html.SelfClosingTagToken) {
			n := &html.Node{Attr: t.Attr}
			d.meta(attr(n, "name"), attr(n, "content"), token)
		}
	}
}

// words reads directives between two commas. Usually that is one; some sites write only spaces or semicolons. The
// value of a directive is none itself, as in "max-image-preview: none".
func (d *Directives) words(part string) {
	value := false
	for word := range strings.FieldsFuncSeq(part, func(r rune) bool { return isSpace(r) || r == ';' }) {
		if value {
			value = false
			continue
		}
		name, rest, colon := strings.Cut(word, ":")
		if strings.EqualFold(name, "unavailable_after") {
			return // a date takes the rest
		}
		d.word(name)
		value = colon && rest == ""
	}
}

func (d *Directives) word(w string) {
	switch strings.ToLower(w) {
	case "none":
		d.NoIndex, d.NoFollow = true, true
	case "noindex":
		d.NoIndex = true
	case "nofollow":
		d.NoFollow = true
	case "noarchive", "nocache":
		d.NoArchive = true
	}
}

func (d *Directives) keep(text string) {
	if len(d.Raw) < maxRaw {
		d.Raw = append(d.Raw, bounded(text, maxRawText))
	}
}

// binds reports whether directives for a name bind us.
func binds(name, token string) bool {
	return strings.EqualFold(name, everyone) || strings.EqualFold(name, ourselves) || token != "" && strings.EqualFold(name, token)
}

// isRobotName reports whether the text before a colon in a field addresses a robot. Part of a date does not, and
// neither does a directive.
func isRobotName(s string) bool {
	if s == "*" {
		return true
	}
	if s = strings.ToLower(s); strings.HasPrefix(s, "max-") {
		return false
	}
	switch s {
	case "unavailable_after", "none", "noindex", "nofollow", "noarchive", "nocache", "nosnippet", "noimageindex", "all", "index", "follow":
		return false
	}
	letter := false
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z':
			letter = true
		case '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == '/':
		default:
			return false
		}
	}
	return letter
}
