package crawltest

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net"
	"strconv"
)

// BenchIll is a body that a page of a Bench has instead of a sound one. The root links to that page, which counts
// as none of the others.
type BenchIll string

// The hostile bodies.
const (
	BenchHuge   BenchIll = "page of 100 MiB"
	BenchGzip   BenchIll = "gzip bomb of 128 MiB"
	BenchBrotli BenchIll = "br bomb of 1 GiB"
)

// BenchIlls are all of them.
func BenchIlls() []BenchIll { return []BenchIll{BenchHuge, BenchGzip, BenchBrotli} }

const (
	benchHuge = 100 << 20 // octets, of markup like that of the sound pages, with links that lead to these
	benchBomb = 128 << 20 // octets that come out of the gzip bomb
)

// illPath is where the hostile page is.
const illPath = "/hostile.html"

// illAnswer is what answers with the hostile body.
func (b *Bench) illAnswer() (func(net.Conn) error, error) {
	const head = "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/html; charset=utf-8\r\n"
	switch b.cfg.Ill {
	case BenchHuge:
		return func(c net.Conn) error { return b.sendHuge(c, head) }, nil
	case BenchGzip:
		bomb, err := gzipOf(benchBomb)
		return sendWhole(head+"Content-Encoding: gzip\r\n", bomb), err
	case BenchBrotli:
		return sendWhole(head+"Content-Encoding: br\r\n", []byte(brBomb)), nil
	}
	return nil, fmt.Errorf("crawltest: no hostile body is called %q", b.cfg.Ill)
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
func (b *Bench) sendHuge(c net.Conn, head string) error {
	page := b.render(nil, 0, 0)
	begin, end := bytes.Index(page, []byte("<article")), bytes.LastIndex(page, []byte("</main>"))
	first, articles, last := page[:begin], page[begin:end], page[end:]
	times := (benchHuge - len(first) - len(last)) / len(articles)
	pad := bytes.Repeat([]byte(" "), benchHuge-len(first)-len(last)-times*len(articles))
	if _, err := c.Write(append([]byte(head+"Content-Length: "+strconv.Itoa(benchHuge)+"\r\n\r\n"), first...)); err != nil {
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

// gzipOf is a gzip member (RFC 1952) that comes to so many spaces: a multiple of bombBlock.
func gzipOf(size int) ([]byte, error) {
	var block bytes.Buffer
	z, err := flate.NewWriter(&block, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	spaces := bytes.Repeat([]byte(" "), bombBlock)
	_, _ = z.Write(spaces) // a bytes.Buffer takes everything
	_ = z.Flush()
	one := bytes.Clone(block.Bytes())
	block.Reset()
	_ = z.Close()
	// RFC 1952 2.3: magic, deflate, no flags, no time, slowest, unknown system.
	out, sum := []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"), uint32(0)
	for range size / bombBlock {
		out = append(out, one...)
		sum = crc32.Update(sum, crc32.IEEETable, spaces)
	}
	out = append(out, block.Bytes()...)
	out = binary.LittleEndian.AppendUint32(out, sum)
	return binary.LittleEndian.AppendUint32(out, uint32(size)), nil
}
