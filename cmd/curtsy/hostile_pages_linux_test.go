package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// costlyPage is a document with more of one thing than any honest document.
type costlyPage struct {
	name, kind string // kind is its media type
	before     string
	part       string // with a verb for a number, or to fill 12 MiB
	n          int    // of parts
	after      string
}

const (
	htmlPage = "text/html; charset=utf-8"
	xhtml    = `<html xmlns="http://www.w3.org/1999/xhtml"><body`
)

func (p costlyPage) Gzip() string {
	text := numbered(p.part, p.n)
	if p.n == 0 {
		text = strings.Repeat(p.part, 12<<20/len(p.part))
	}
	if text = p.before + text + p.after; strings.HasPrefix(p.kind, "text/html") {
		text = "<!DOCTYPE html><title>x</title>" + text
	}
	if strings.HasSuffix(p.kind, "utf-16") {
		octets := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(text)) {
			octets = binary.LittleEndian.AppendUint16(octets, u)
		}
		text = string(octets)
	}
	return gzipped(text)
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

var hostilePages = []costlyPage{
	{"distinct attributes", htmlPage, "<p", " a%x", 1_700_000, ">"},
	{"elements of 4,000 attributes", htmlPage, "", "<p" + numbered(" a%d", 4000) + ">", 0, ""},
	{"attributes of two bytes", htmlPage, "", "<p" + numbered(" %x", 200) + ">", 0, ""},
	{"ids", htmlPage, "", "<p id=%x>", 1_000_000, ""},
	{"ids of five million elements", htmlPage, "", "<b id=%x>", 5_000_000, ""},
	{"names", htmlPage, "", "<a name=%x>", 900_000, ""},
	{"imports in a style", htmlPage, "<style>", "@import'%x';", 2_000_000, ""},
	{"URLs in a style", htmlPage, "<style>", "a{b:url(%x)}", 900_000, ""},
	{"styles in attributes", htmlPage, "", "<p style='a:url(%x)'>", 500_000, ""},
	{"links", htmlPage, "", "<a href=%x>", 900_000, ""},
	{"links to one page", htmlPage, "", "<a href=x>", 0, ""},
	{"long links", htmlPage, "", "<a href='/" + strings.Repeat("x", 1<<20-20) + "'>", 0, ""},
	{"mailboxes", htmlPage, "", "<a href=mailto:%x>", 600_000, ""},
	{"candidates in a srcset", htmlPage, "<img srcset='", "%x 1x,", 1_200_000, "'>"},
	{"pages in attributes", htmlPage, "", "<iframe srcdoc='" + strings.Repeat("<p>", 340_000) + "'></iframe>", 0, ""},
	{"one page in an attribute", htmlPage, "<iframe srcdoc='", "<p>", 0, "'>"},
	{"character references", htmlPage, "<iframe srcdoc='", "&lt;", 0, "'>"},
	{"titles", htmlPage, "<title>", "x ", 0, ""},
	{"words", htmlPage, "", "%x ", 2_000_000, ""},
	{"script", htmlPage, "<script>", "'/%x.html';", 900_000, ""},
	{"comments in a script", htmlPage, "<script>", "<!--<script>", 0, ""},
	{"paragraphs", htmlPage, "", "<p>", 0, ""},
	{"tables", htmlPage, "", "<table><td>", 0, ""},
	{"formatting", htmlPage, "", "<p><font size=1><b><i>", 0, ""},
	{"SVG", htmlPage, "", "<svg><a><use href=x>", 0, ""},
	{"comments", htmlPage, "", "<!---->", 0, ""},
	{"nested elements", htmlPage, "", "<div>", 0, ""},
	{"a link that is opened again", htmlPage, "<p><a href=x b=1 c=2 d=3 e=4 f=5>", "<p>x", 0, ""},
	{"UTF-16", "text/html; charset=utf-16", "", "<a href=%x>x", 450_000, ""},
	{"ids in XML", "application/xhtml+xml", xhtml + ">", "<p id='%x'/>", 700_000, "</body></html>"},
	{"attributes in XML", "application/xhtml+xml", xhtml, " a%x=''", 900_000, "/></html>"},
	{"imports in a style sheet", "text/css", "", "@import'%x';", 900_000, ""},
	{"uses in a picture", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg">`, "<use href='%x'/>", 600_000, "</svg>"},
}
