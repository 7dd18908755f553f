package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// costlyPage is a document that is costly to read: it has more of one thing than any honest document.
type costlyPage struct {
	Name string
	Type string        // its media type
	Text func() []byte // makes it
}

// Gzip returns the page in the gzip coding.
func (p costlyPage) Gzip() ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, _ = z.Write(p.Text()) // a bytes.Buffer takes everything
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

const (
	pageHTML  = "text/html; charset=utf-8"
	pageXHTML = "application/xhtml+xml"
	pageCSS   = "text/css"
	pageSVG   = "image/svg+xml"
)

// hostilePages returns documents of some megabytes each, every one costly in its own way.
func hostilePages() []costlyPage {
	const large = 12 << 20 // bytes: beyond what a crawler looks at
	fill := func(s string, size int) string { return strings.Repeat(s, size/len(s)) }
	html := func(name string, text func() string) costlyPage {
		return costlyPage{name, pageHTML, func() []byte { return []byte("<!DOCTYPE html><title>x</title>" + text()) }}
	}
	numbered := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	repeated := func(name, part string) costlyPage { return html(name, func() string { return fill(part, large) }) }
	return []costlyPage{
		html("distinct attributes", func() string { return "<p" + numbered(" a%x", 1_700_000) + ">" }),
		html("elements of 4,000 attributes", func() string { return strings.Repeat("<p"+numbered(" a%d", 4000)+">", 500) }),
		html("attributes of two bytes", func() string { return fill("<p"+numbered(" %x", 200)+">", large) }),
		html("ids", func() string { return numbered("<p id=%x>", 1_000_000) }),
		html("ids of five million elements", func() string { return numbered("<b id=%x>", 5_000_000) }),
		html("names", func() string { return numbered("<a name=%x>", 900_000) }),
		html("imports in a style", func() string { return "<style>" + numbered("@import'%x';", 2_000_000) }),
		html("URLs in a style", func() string { return "<style>" + numbered("a{b:url(%x)}", 900_000) }),
		html("styles in attributes", func() string { return numbered("<p style='a:url(%x)'>", 500_000) }),
		html("links", func() string { return numbered("<a href=%x>", 900_000) }),
		html("links to one page", func() string { return fill("<a href=x>", large) }),
		html("long links", func() string { return strings.Repeat("<a href='/"+fill("x", 1<<20)+"'>", 12) }),
		html("mailboxes", func() string { return numbered("<a href=mailto:%x>", 600_000) }),
		html("candidates in a srcset", func() string { return "<img srcset='" + numbered("%x 1x,", 1_200_000) + "'>" }),
		html("pages in attributes", func() string { return strings.Repeat("<iframe srcdoc='"+fill("<p>", 1<<20)+"'></iframe>", 12) }),
		html("one page in an attribute", func() string { return "<iframe srcdoc='" + fill("<p>", large) + "'>" }),
		html("character references", func() string { return "<iframe srcdoc='" + fill("&lt;", large) + "'>" }),
		html("titles", func() string { return "<title>" + fill("x ", large) }),
		html("words", func() string { return numbered("%x ", 2_000_000) }),
		html("script", func() string { return "<script>" + numbered("'/%x.html';", 900_000) }),
		html("comments in a script", func() string { return "<script>" + fill("<!--<script>", large) }),
		repeated("paragraphs", "<p>"),
		repeated("tables", "<table><td>"),
		repeated("formatting", "<p><font size=1><b><i>"),
		repeated("SVG", "<svg><a><use href=x>"),
		repeated("comments", "<!---->"),
		repeated("nested elements", "<div>"),
		html("a link that is opened again", func() string { return "<p><a href=x b=1 c=2 d=3 e=4 f=5>" + fill("<p>x", large) }),
		{"UTF-16", "text/html; charset=utf-16", func() []byte { return inUTF16("<!DOCTYPE html><title>x</title>" + numbered("<a href=%x>x", 450_000)) }},
		{"ids in XML", pageXHTML, func() []byte {
			return []byte(`<html xmlns="http://www.w3.org/1999/xhtml"><body>` + numbered("<p id='%x'/>", 700_000) + "</body></html>")
		}},
		{"attributes in XML", pageXHTML, func() []byte {
			return []byte(`<html xmlns="http://www.w3.org/1999/xhtml"><body` + numbered(" a%x=''", 900_000) + "/></html>")
		}},
		{"imports in a style sheet", pageCSS, func() []byte { return []byte(numbered("@import'%x';", 900_000)) }},
		{"uses in a picture", pageSVG, func() []byte {
			return []byte(`<svg xmlns="http://www.w3.org/2000/svg">` + numbered("<use href='%x'/>", 600_000) + "</svg>")
		}},
	}
}

// inUTF16 is a text in UTF-16, with its mark.
func inUTF16(s string) []byte {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}
