package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"curtsy/crawler/crawltest"
)

// The pages of a Web. A host's pages are numbered from 0, the root. Page n links to pages 10n+1 to 10n+10 of its host
// as far as there are such, so that all are reached from the root, and beyond that to pages drawn from all, half of
// them the host's own. An endless page n links to 40n+1 to 40n+40, which nobody else does.

// fan is how many pages of its host a page leads to first.
const fan = 10

// mostPages pages can be numbered.
const mostPages = 1 << 30

// pieces are what pages are put together from.
type pieces struct {
	seed uint64
	text [][]byte // paragraphs of some 330 bytes, with a little markup
}

const (
	manyPieces = 512 // paragraphs
	pieceSize  = 350 // bytes of one, at least
)

func newPieces(seed uint64) pieces {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(words []string) string { return words[r.IntN(len(words))] }
	p := pieces{seed: seed}
	for range manyPieces {
		var b strings.Builder
		for b.Len() < pieceSize {
			fmt.Fprintf(&b, "%s <em>%s</em> %s %s. ", pick(crawltest.Someone), pick(crawltest.Did), pick(crawltest.Thing),
				pick(crawltest.Moment))
		}
		p.text = append(p.text, []byte(b.String()))
	}
	return p
}

// draw is a number below n that depends on the seed, the page and i alone (splitmix64).
func (p pieces) draw(host, page, i, n int) int {
	x := p.seed + uint64(host)<<44 + uint64(page)<<8 + uint64(i) + 1
	x *= 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) % uint64(n))
}

const (
	sectionNames = "archive library gardens harbour kitchen letters markets notices"
	// Numbers are written in letters: paths that differ in digits alone are how traps look.
	digits = "bcdfghjklmnpqrst"
	tail   = ".html"
)

var sections = strings.Fields(sectionNames)

func appendPath(b []byte, page int) []byte {
	if page == 0 {
		return append(b, '/')
	}
	b = append(b, '/')
	b = append(b, sections[page%len(sections)]...)
	b = append(b, "/what-was-found-"...)
	n := uint32(page) * 0x9e3779b1 // odd, so that no two pages share it; neighbours look different
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, digits[n>>shift&15])
	}
	return append(b, tail...)
}

// unscramble is the inverse of what appendPath multiplies by, modulo 2^32.
const unscramble = 0x0e8b2f51

// pageAt is the page that a target names; noPage if none could.
func pageAt(target []byte) int {
	if string(target) == "/" {
		return 0
	}
	end := len(target) - len(tail)
	if end < 8 {
		return noPage
	}
	var n uint32
	for _, c := range target[end-8 : end] {
		d := strings.IndexByte(digits, c)
		if d < 0 {
			return noPage
		}
		n = n<<4 | uint32(d)
	}
	page := int(n * unscramble)
	var path [64]byte
	if page < 0 || page >= mostPages || !bytes.Equal(appendPath(path[:0], page), target) {
		return noPage
	}
	return page
}

func (b *ServedWeb) has(host, page int) bool {
	return page >= 0 && (b.cfg.Endless || page < b.pagesOf(host))
}

// pagesOf is how many pages a host has.
func (b *ServedWeb) pagesOf(host int) int {
	return (b.cfg.Pages - host + b.cfg.Hosts - 1) / b.cfg.Hosts
}

// leadsTo is where link i of a page leads.
func (b *ServedWeb) leadsTo(host, page, i int) (toHost, toPage int) {
	if b.cfg.Endless {
		return host, (Links*page + i + 1) % mostPages
	}
	if to := fan*page + i + 1; i < fan && to < b.pagesOf(host) {
		return host, to
	}
	if i%2 == 0 {
		host = b.text.draw(host, page, i, b.cfg.Hosts)
	}
	return host, b.text.draw(host, page, i+Links, b.pagesOf(host))
}

// answer writes what a host answers to a target, head and body, after out.
func (b *ServedWeb) answer(out []byte, host int, target []byte) (_ []byte, page int) {
	if string(target) == "/robots.txt" {
		return append(out, b.robots...), robotsPage
	}
	page = pageAt(target)
	if !b.has(host, page) {
		return append(out, "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nNot found\n"...),
			noPage
	}
	const head = "HTTP/1.1 200 OK\r\nServer: bench\r\nConnection: keep-alive\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length:       \r\n\r\n"
	out = append(out, head...)
	begin := len(out)
	out = b.render(out, host, page)
	for n, at := len(out)-begin, begin-5; n > 0; n, at = n/10, at-1 { // over the spaces
		out[at] = byte('0' + n%10)
	}
	return out, page
}

// render writes a page: a head, and a teaser of half a KiB around each link.
func (b *ServedWeb) render(out []byte, host, page int) []byte {
	out = append(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>"...)
	out = appendPath(out, page)
	out = append(out, "</title>\n<meta name=\"viewport\" content=\"width=device-width\">\n</head>\n<body>\n<main>\n"...)
	if b.cfg.Ill != "" && host == 0 && page == 0 {
		out = append(out, "<p><a href=\""+hostilePath+"\">and one more</a></p>\n"...)
	}
	for i := range Links {
		to, toPage := b.leadsTo(host, page, i)
		out = append(out, "<article class=\"teaser\" id=\"t"...)
		out = strconv.AppendInt(out, int64(i), 10)
		out = append(out, "\"><h3><a href=\""...)
		if to != host {
			out = append(out, b.from[to]...)
		}
		out = appendPath(out, toPage)
		out = append(out, "\">"...)
		out = append(out, crawltest.Thing[b.text.draw(host, page, i+2*Links, len(crawltest.Thing))]...)
		out = append(out, "</a></h3>\n<p>"...)
		out = append(out, b.text.text[b.text.draw(host, page, i+3*Links, manyPieces)]...)
		out = append(out, "</p></article>\n"...)
	}
	return append(out, "</main>\n</body>\n</html>\n"...)
}

// answerOf is a whole answer with a body.
func answerOf(mediaType, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		mediaType, len(body), body)
}

// readRequest reads the head of a GET request without a body; anything else is not ok. target is good until the next
// call.
func readRequest(in *bufio.Reader) (target []byte, keep, ok bool) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return nil, false, false
	}
	rest, isGet := bytes.CutPrefix(line, []byte("GET "))
	target, proto, cut := bytes.Cut(bytes.TrimRight(rest, "\r\n"), []byte(" "))
	if !isGet || !cut {
		return nil, false, false
	}
	keep = string(proto) == "HTTP/1.1"
	target = bytes.Clone(target) // the lines below may move the buffer
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return nil, false, false
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			return target, keep, true
		}
		if name, value, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("Connection")) {
			switch value = bytes.TrimSpace(value); {
			case bytes.EqualFold(value, []byte("close")):
				keep = false
			case bytes.EqualFold(value, []byte("keep-alive")):
				keep = true
			}
		}
	}
}
