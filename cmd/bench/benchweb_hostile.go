package main

import (
	"bytes"
	"fmt"
	"net"
	"strconv"

	"curtsy/crawler/crawltest"
)

// HostileBody is a body that a page of a Web has instead of a sound one. The root links to that page, which counts
// as none of the others.
type HostileBody string

// The hostile bodies.
const (
	Huge   HostileBody = "page of 100 MiB"
	Gzip   HostileBody = "gzip bomb of 128 MiB"
	Brotli HostileBody = "br bomb of 1 GiB"
)

// HostileBodies are all of them.
func HostileBodies() []HostileBody { return []HostileBody{Huge, Gzip, Brotli} }

const (
	hugeSize = 100 << 20 // bytes, of markup like that of the sound pages, with links that lead to these
	bombSize = 128 << 20 // bytes that come out of the gzip bomb
)

// hostilePath is where the hostile page is.
const hostilePath = "/hostile.html"

// hostileAnswer is what answers with the hostile body.
func (b *ServedWeb) hostileAnswer() (func(net.Conn) error, error) {
	const head = "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/html; charset=utf-8\r\n"
	switch b.cfg.Ill {
	case Huge:
		return func(c net.Conn) error { return b.sendHuge(c, head) }, nil
	case Gzip:
		body, err := crawltest.GzipBomb(bombSize)
		return sendWhole(head+"Content-Encoding: gzip\r\n", body), err
	case Brotli:
		return sendWhole(head+"Content-Encoding: br\r\n", []byte(crawltest.BrotliBomb)), nil
	}
	return nil, fmt.Errorf("benchweb: no hostile body is called %q", b.cfg.Ill)
}

// sendWhole sends a body that is there.
func sendWhole(head string, body []byte) func(net.Conn) error {
	answer := append([]byte(head+"Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"), body...)
	return func(c net.Conn) error {
		_, err := c.Write(answer)
		return err
	}
}

// sendHuge sends one page, made of the articles of a sound one over and over.
func (b *ServedWeb) sendHuge(c net.Conn, head string) error {
	page := b.render(nil, 0, 0)
	begin, end := bytes.Index(page, []byte("<article")), bytes.LastIndex(page, []byte("</main>"))
	first, articles, last := page[:begin], page[begin:end], page[end:]
	times := (hugeSize - len(first) - len(last)) / len(articles)
	pad := bytes.Repeat([]byte(" "), hugeSize-len(first)-len(last)-times*len(articles))
	if _, err := c.Write(append([]byte(head+"Content-Length: "+strconv.Itoa(hugeSize)+"\r\n\r\n"), first...)); err != nil {
		return err
	}
	for range times {
		if _, err := c.Write(articles); err != nil {
			return err
		}
	}
	_, err := c.Write(append(pad, last...))
	return err
}
