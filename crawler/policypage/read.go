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

// A Published page is the content of a published page.
type Published struct {
	Marked map[string][]string // values by their data-curtsy attribute
	Text   string              // visible text, white space collapsed
	Links  map[string][]string // URLs of link elements by relation
	Leads  []string            // URLs of links
}

// ReadPage reads a page in one pass over its tokens, whatever its depth.
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

// reading is a partly read page.
type reading struct {
	Published
	all, value strings.Builder
	hidden     string // the open element whose text is invisible
	what       string // the present value's data-curtsy
	of         string // its element
	depth      int    // open elements of that name
	marked     int
}

func (p *reading) begin(t *html.Token, closed bool) {
	p.all.WriteByte(' ')
	attr := map[string]string{}
	for _, a := range t.Attr {
		if _, ok := attr[a.Key]; !ok { // the first one wins
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

// end stores the present value.
func (p *reading) end() {
	if p.what != "" {
		p.Marked[p.what] = append(p.Marked[p.what], squeeze(p.value.String()))
	}
	p.value.Reset()
	p.what = ""
}

// squeeze collapses white space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// has reports whether the page has a value: in a marked element or, without any, anywhere in the text. published is the
// marked value.
func (p *Published) has(what, value string) (published string, ok bool) {
	value = squeeze(value)
	marked, isMarked := p.Marked[what]
	if isMarked {
		return strings.Join(marked, ", "), slices.Contains(marked, value)
	}
	return "", value != "" && holdsWord(p.Text, value)
}

// holdsWord reports whether text contains value as whole words: curtsy is not in curtsy-two.
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

// inWord reports whether a rune is part of a word. utf8.RuneError, of empty text, is not.
func inWord(r rune) bool {
	return r == '-' || r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

func (p *Published) leadsTo(uri string) bool { return slices.Contains(p.Leads, uri) }

// link returns the first URL of a relation, resolved against base; empty without one.
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
