package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"curtsy/crawler/crawltest"
)

// A host's pages are numbered from 0, the root. Page n links to pages 10n+1 to 10n+10 of its host where they exist, so that
// all are reached from the root; its other links lead to random pages, half of them on its own host. An endless page n links
// to 40n+1 to 40n+40, which no other page does.
const (
	links      = 40 // of a page
	fan        = 10 // of these to the next pages of its host
	mostPages  = 1 << 30
	paragraphN = 512
	pieceSize  = 350                // bytes of a paragraph, at least
	digits     = "bcdfghjklmnpqrst" // of page numbers in paths: paths that differ only in digits look like traps
	tail       = ".html"
	scramble   = 0x9e3779b1 // odd, so that no two pages share a path; neighbours look different
	unscramble = 0x0e8b2f51 // its inverse modulo 2^32
)

var sections = strings.Fields("archive library gardens harbour kitchen letters markets notices")

// paragraphs are what pages are made from.
func paragraphs() (all [][]byte) {
	r := rand.New(rand.NewPCG(1, 1))
	pick := func(words []string) string { return words[r.IntN(len(words))] }
	for range paragraphN {
		var b strings.Builder
		for b.Len() < pieceSize {
			fmt.Fprintf(&b, "%s <em>%s</em> %s %s. ", pick(crawltest.Someone), pick(crawltest.Did), pick(crawltest.Thing), pick(crawltest.Moment))
		}
		all = append(all, []byte(b.String()))
	}
	return all
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014): neighbours become independent.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

const golden = 0x9e3779b97f4a7c15 // the increment of SplitMix64

// draw is a number below n that depends only on the page and i.
func draw(host, page, i, n int) int {
	return int(mix((uint64(host)<<44+uint64(page)<<8+uint64(i)+2)*golden) % uint64(n))
}

func appendPath(b []byte, page int) []byte {
	b = append(b, '/')
	if page == 0 {
		return b
	}
	b = append(b, sections[page%len(sections)]...)
	b = append(b, "/what-was-found-"...)
	n := uint32(page) * scramble
	for shift := 28; shift >= 0; shift -= 4 {
		b = append(b, digits[n>>shift&15])
	}
	return append(b, tail...)
}

// pageAt is the page with this path, or noPage.
func pageAt(path []byte) int {
	if string(path) == "/" {
		return 0
	}
	end := len(path) - len(tail)
	if end < 8 {
		return noPage
	}
	var n uint32
	for _, c := range path[end-8 : end] {
		d := strings.IndexByte(digits, c)
		if d < 0 {
			return noPage
		}
		n = n<<4 | uint32(d)
	}
	page := int(n * unscramble)
	var own [64]byte
	if page < 0 || page >= mostPages || !bytes.Equal(appendPath(own[:0], page), path) {
		return noPage
	}
	return page
}

func (w *web) has(host, page int) bool {
	return page >= 0 && (w.cfg.Endless || page < w.pagesOf(host))
}

func (w *web) pagesOf(host int) int { return (w.cfg.Pages - host + w.cfg.Hosts - 1) / w.cfg.Hosts }

// leadsTo is the target of link i of a page.
func (w *web) leadsTo(host, page, i int) (toHost, toPage int) {
	if w.cfg.Endless {
		return host, (links*page + i + 1) % mostPages
	}
	if to := fan*page + i + 1; i < fan && to < w.pagesOf(host) {
		return host, to
	}
	if i%2 == 0 {
		host = draw(host, page, i, w.cfg.Hosts)
	}
	return host, draw(host, page, i+links, w.pagesOf(host))
}

// respond appends a host's response for a target to out.
func (w *web) respond(out []byte, host int, target []byte) (_ []byte, page int) {
	if string(target) == "/robots.txt" {
		return append(out, w.robots...), robotsPage
	}
	if page = pageAt(target); !w.has(host, page) {
		return append(out, "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nNot found\n"...), noPage
	}
	out = append(out, "HTTP/1.1 200 OK\r\nServer: bench\r\nConnection: keep-alive\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length:       \r\n\r\n"...)
	begin := len(out)
	out = w.render(out, host, page)
	for n, at := len(out)-begin, begin-5; n > 0; n, at = n/10, at-1 { // over the spaces
		out[at] = byte('0' + n%10)
	}
	return out, page
}

// render appends a page: a head, and half a KiB of text around each link.
func (w *web) render(out []byte, host, page int) []byte {
	out = append(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>"...)
	out = appendPath(out, page)
	out = append(out, "</title>\n<meta name=\"viewport\" content=\"width=device-width\">\n</head>\n<body>\n<main>\n"...)
	if w.cfg.Hostile != "" && host == 0 && page == 0 {
		out = append(out, "<p><a href=\""+hostilePath+"\">and one more</a></p>\n"...)
	}
	for i := range links {
		to, toPage := w.leadsTo(host, page, i)
		out = append(out, "<article class=\"teaser\" id=\"t"...)
		out = strconv.AppendInt(out, int64(i), 10)
		out = append(out, "\"><h3><a href=\""...)
		if to != host {
			out = append(out, w.from[to]...)
		}
		out = appendPath(out, toPage)
		out = append(out, "\">"...)
		out = append(out, crawltest.Thing[draw(host, page, i+2*links, len(crawltest.Thing))]...)
		out = append(out, "</a></h3>\n<p>"...)
		out = append(out, w.text[draw(host, page, i+3*links, paragraphN)]...)
		out = append(out, "</p></article>\n"...)
	}
	return append(out, "</main>\n</body>\n</html>\n"...)
}

// The hostile bodies.
const (
	hostilePath = "/hostile.html"
	hugePage    = "page of 100 MiB"
	gzipBomb    = "gzip bomb of 128 MiB"
	brotliBomb  = "br bomb of 1 GiB"
	hugeSize    = 100 << 20 // bytes, of the same markup as the other pages
	bombSize    = 128 << 20 // bytes of the gzip bomb, decompressed
)

var hostileBodies = []string{hugePage, gzipBomb, brotliBomb}

func (w *web) hostileResponse() ([]byte, error) {
	switch w.cfg.Hostile {
	case hugePage:
		page := w.render(nil, 0, 0)
		begin, end := bytes.Index(page, []byte("<article")), bytes.LastIndex(page, []byte("</main>"))
		articles, last := page[begin:end], page[end:]
		body := bytes.Join([][]byte{page[:begin], bytes.Repeat(articles, (hugeSize-begin-len(last))/len(articles))}, nil)
		body = append(body, bytes.Repeat([]byte(" "), hugeSize-len(body)-len(last))...)
		return response("text/html", "", append(body, last...)), nil
	case gzipBomb:
		body, err := crawltest.GzipBomb(bombSize)
		return response("text/html", "gzip", body), err
	case brotliBomb:
		return response("text/html", "br", []byte(crawltest.BrotliBomb)), nil
	}
	return nil, nil
}

func response(mediaType, coding string, body []byte) []byte {
	if coding != "" {
		coding = "Content-Encoding: " + coding + "\r\n"
	}
	return append(fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: %s; charset=utf-8\r\n%sContent-Length: %d\r\n\r\n", mediaType, coding, len(body)), body...)
}
