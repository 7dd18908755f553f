package policypage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// MaxDocument is the most bytes of a published document.
const MaxDocument = 500 << 10

const (
	maxMarked = 4 * MaxRanges // values of a page
	maxLinks  = 100
)

// A Published page is what somebody published as one.
type Published struct {
	Marked map[string][]string // values by what they are, where the page says so
	Text   string              // all that people read, each white space one blank
	Links  map[string][]string // addresses by relation
	Leads  []string            // where its links lead
}

// ReadPage reads a page. Only what the tokens of HTML say counts: a page of whatever depth is read in one pass.
func ReadPage(b []byte) (Published, error) {
	if len(b) > MaxDocument {
		return Published{}, malformed("it is larger than %d bytes", MaxDocument)
	}
	p := reading{Published: Published{Marked: map[string][]string{}, Links: map[string][]string{}}}
	z := html.NewTokenizer(bytes.NewReader(bytes.ToValidUTF8(b, []byte("�"))))
	z.SetMaxBuf(MaxDocument)
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return Published{}, fmt.Errorf("%w: %w", ErrFormat, err)
			}
			p.end()
			p.Text = squeeze(p.all.String())
			return p.Published, nil
		case html.TextToken:
			p.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			p.begin(&t, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			t := z.Token()
			p.close(t.Data)
		}
	}
}

// reading is a page as far as it was read.
type reading struct {
	Published
	all, value strings.Builder
	hidden     string // the element whose text nobody reads
	what       string // what the value is that is being read
	of         string // the element that it stands in
	depth      int    // how many of that name are open
	marked     int
}

// begin reads a start tag.
func (p *reading) begin(t *html.Token, closed bool) {
	p.all.WriteByte(' ')
	attr := map[string]string{}
	for _, a := range t.Attr {
		if _, ok := attr[a.Key]; !ok { // the first counts
			attr[a.Key] = a.Val
		}
	}
	switch t.Data {
	case "script", "style", "template", "noscript":
		if !closed && p.hidden == "" {
			p.hidden = t.Data
		}
	case "a", "link":
		if len(p.Leads) < maxLinks && attr["href"] != "" {
			p.Leads = append(p.Leads, attr["href"])
		}
		for _, rel := range strings.Fields(strings.ToLower(attr["rel"])) {
			if len(p.Links[rel]) < maxLinks && len(p.Links) < maxLinks && t.Data == "link" {
				p.Links[rel] = append(p.Links[rel], attr["href"])
			}
		}
	}
	what := attr["data-curtsy"]
	switch {
	case closed:
	case p.what == "" && what != "" && p.marked < maxMarked:
		p.marked++
		p.what, p.of, p.depth = what, t.Data, 1
	case p.what != "" && t.Data == p.of:
		p.depth++
	}
}

func (p *reading) text(s string) {
	if p.hidden != "" {
		return
	}
	p.all.WriteString(s)
	if p.what != "" {
		p.value.WriteString(s)
	}
}

// close reads an end tag.
func (p *reading) close(name string) {
	p.all.WriteByte(' ')
	if name == p.hidden {
		p.hidden = ""
	}
	if p.what != "" && name == p.of {
		if p.depth--; p.depth == 0 {
			p.end()
		}
	}
}

// end keeps the value that is being read.
func (p *reading) end() {
	if p.what != "" {
		p.Marked[p.what] = append(p.Marked[p.what], squeeze(p.value.String()))
	}
	p.value.Reset()
	p.what = ""
}

// squeeze makes each white space one blank.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// says reports whether the page says a value as what it is: in an element that is marked so, or, if it marks none,
// anywhere in its text. published is what it says there.
func (p *Published) says(what, value string) (published string, ok bool) {
	value = squeeze(value)
	marked, isMarked := p.Marked[what]
	if isMarked {
		return strings.Join(marked, ", "), slices.Contains(marked, value)
	}
	return "", value != "" && holdsWord(p.Text, value)
}

// holdsWord reports whether a text has a value with no letter, digit or dash beside it: curtsy does not stand in
// curtsy-two.
func holdsWord(text, value string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], value)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		behind, _ := utf8.DecodeRuneInString(text[at+len(value):])
		if !inWord(before) && !inWord(behind) {
			return true
		}
		from = at + 1
	}
}

// inWord reports whether a rune is a part of words; the one of no text at all is not.
func inWord(r rune) bool {
	return r == '-' || r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// leadsTo reports whether a link of the page leads to a URI.
func (p *Published) leadsTo(uri string) bool { return slices.Contains(p.Leads, uri) }

// link is where the first link of a relation leads, seen from base; empty if there is none.
func (p *Published) link(rel, base string) string {
	from, err := url.Parse(base)
	if err != nil {
		return ""
	}
	for _, href := range p.Links[rel] {
		if to, err := from.Parse(strings.TrimSpace(href)); err == nil && (to.Scheme == "http" || to.Scheme == "https") && to.Host != "" {
			to.Fragment = ""
			return to.String()
		}
	}
	return ""
}
