package crawltest

import (
	"bytes"
	"compress/flate"
	"context"
	_ "embed"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"net/http"
)

// What the ill bodies are measured by.
const (
	unending  = 512 << 20 // octets after which an endless answer has proved its point, and ends
	enough    = 300 << 20 // octets of one answer that a crawler may take
	bombSize  = 1 << 30   // octets of a bomb when it has gone off
	bombBlock = 1 << 20
)

// bodySites send too much.
func bodySites() []*Site {
	return []*Site{
		ill("endless.test", "endless body", true, Expect{Octets: enough}, raw("/endless.html", endlessBody)),
		ill("gzip.test", "gzip bomb", true, Expect{}, raw("/bomb.html", gzipBomb)),
		ill("br.test", "br bomb", true, Expect{}, raw("/bomb.html", say(ok("Content-Encoding: br")+brBomb, true))),
		ill("zstd.test", "zstd bomb", true, Expect{},
			raw("/bomb.html", say(ok("Content-Encoding: zstd")+zstdBomb(windowUsual), true)),
			raw("/window.html", say(ok("Content-Encoding: zstd")+zstdBomb(windowHuge), true))),
	}
}

// endlessBody has no length and no end.
func endlessBody(_ context.Context, conn net.Conn, _ *http.Request) bool {
	_, err := io.WriteString(conn, ok()+"<!DOCTYPE html><title>On and on</title>")
	if err == nil {
		flow(conn, bytes.Repeat([]byte("<p>and so on</p>\n"), 1<<11), unending)
	}
	return true
}

// gzipBomb sends spaces: one block of DEFLATE, which refers to nothing outside it, again and again.
func gzipBomb(_ context.Context, conn net.Conn, _ *http.Request) bool {
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return false
	}
	spaces := bytes.Repeat([]byte(" "), bombBlock)
	_, _ = z.Write(spaces) // a bytes.Buffer takes everything
	_ = z.Flush()
	block := bytes.Clone(b.Bytes())
	b.Reset()
	_ = z.Close()
	end := b.Bytes()
	sum := uint32(0)
	for range bombSize / bombBlock {
		sum = crc32.Update(sum, crc32.IEEETable, spaces)
	}
	end = binary.LittleEndian.AppendUint32(end, sum)
	end = binary.LittleEndian.AppendUint32(end, bombSize)
	// RFC 1952 2.3: magic, deflate, no flags, no time, slowest, unknown system.
	_, err = io.WriteString(conn, ok("Content-Encoding: gzip")+"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff")
	if err == nil && flow(conn, block, int64(len(block))*(bombSize/bombBlock)) {
		_, _ = conn.Write(end) // who left has seen enough
	}
	return true
}

// Windows of a zstd frame (RFC 8878 3.1.1.1.2): exponent in five bits, mantissa in three.
const (
	windowUsual = 13 << 3 // 8 MiB, the most that a client on the web need have (RFC 9659)
	windowHuge  = 31<<3 | 7
)

// zstdBomb is a frame of blocks that each stand for a run of one octet (RFC 8878 3.1.1).
func zstdBomb(window byte) string {
	const run = 128 << 10 // the most of a block
	const kind = 1        // a run
	b := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, window}
	const blocks = bombSize / run
	for i := range blocks {
		head := uint32(run<<3 | kind<<1)
		if i == blocks-1 {
			head |= 1
		}
		b = append(b, byte(head), byte(head>>8), byte(head>>16), ' ')
	}
	return string(b)
}

// brBomb is what the br coding makes of bombSize spaces.
//
//go:embed bomb.br
var brBomb string
