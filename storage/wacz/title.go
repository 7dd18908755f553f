package wacz

import (
	"io"
	"mime"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// Limits of what a page is read for its title.
const (
	maxDecoded = 512 << 10 // bytes without their content coding
	maxTitle   = 300       // characters
	maxToken   = 64 << 10  // bytes of one tag or text
)

// titleOf returns the title of an HTML page, or "" when it has none that is found within the limits. The page is from
// the web: nothing in it is an error here. label is the charset that its server named, if any.
func titleOf(body io.Reader, label string) string {
	text, err := charset.NewReader(body, mime.FormatMediaType("text/html", map[string]string{"charset": label}))
	if err != nil {
		return ""
	}
	z := html.NewTokenizer(text)
	z.SetMaxBuf(maxToken)
	drawing := 0 // an SVG image in the page has titles of its own
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken:
			switch name, _ := z.TagName(); string(name) {
			case "svg":
				drawing++
			case "title":
				if drawing > 0 {
					continue
				}
				if z.Next() != html.TextToken {
					return ""
				}
				title := tidy(string(z.Text()))
				if z.Next() != html.EndTagToken { // it is cut off
					return ""
				}
				return title
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == "svg" && drawing > 0 {
				drawing--
			}
		}
	}
}

// tidy makes a line of a text: no control characters, no more than maxTitle characters.
func tidy(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " ")
	n := 0
	s = strings.Map(func(r rune) rune {
		if n++; unicode.IsControl(r) || n > maxTitle {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// titles are those of the last pages, by the digest of their payload: a revisit has no body to read a title from.
type titles struct {
	by   map[string]string
	ring []string
	next int
}

// rememberedTitles is how many are kept. A revisit of an older page is listed without one.
const rememberedTitles = 16 << 10

func newTitles() titles { return titles{by: map[string]string{}} }

// of returns the title of a page that has been seen, and whether it has.
func (t *titles) of(payload string) (title string, known bool) {
	title, known = t.by[payload]
	return title, known
}

func (t *titles) keep(payload, title string) {
	if payload == "" || len(payload) > 200 {
		return
	}
	if _, ok := t.by[payload]; ok {
		return
	}
	t.by[payload] = title
	if len(t.ring) < rememberedTitles {
		t.ring = append(t.ring, payload)
		return
	}
	delete(t.by, t.ring[t.next])
	t.ring[t.next] = payload
	t.next = (t.next + 1) % rememberedTitles
}
