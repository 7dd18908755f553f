package scoreboard

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"

	"curtsy/crawler/crawltest"
)

// The measures of the ill bodies.
const (
	unending = 512 << 20 // bytes after which an endless answer has proved its point, and ends
	enough   = 300 << 20 // bytes of one answer that a crawler may take
	bombSize = 1 << 30   // bytes of a bomb when it has gone off
)

// bodySites send too much.
func bodySites() []*crawltest.Site {
	return []*crawltest.Site{
		ill("endless.test", "endless body", true, crawltest.Expect{Octets: enough}, raw("/endless.html", endlessBody)),
		ill("gzip.test", "gzip bomb", true, crawltest.Expect{}, raw("/bomb.html", gzipBomb)),
		ill("br.test", "br bomb", true, crawltest.Expect{},
			raw("/bomb.html", crawltest.Say(crawltest.Head("Content-Encoding: br")+crawltest.BrotliBomb, true))),
		ill("zstd.test", "zstd bomb", true, crawltest.Expect{},
			raw("/bomb.html",
				crawltest.Say(crawltest.Head("Content-Encoding: zstd")+crawltest.ZstdBomb(bombSize, crawltest.UsualWindow), true)),
			raw("/window.html",
				crawltest.Say(crawltest.Head("Content-Encoding: zstd")+crawltest.ZstdBomb(bombSize, crawltest.HugeWindow), true))),
	}
}

// endlessBody has no length and no end.
func endlessBody(_ context.Context, conn net.Conn, _ *http.Request) bool {
	_, err := io.WriteString(conn, crawltest.Head()+"<!DOCTYPE html><title>On and on</title>")
	if err == nil {
		flow(conn, bytes.Repeat([]byte("<p>and so on</p>\n"), 1<<11), unending)
	}
	return true
}

// gzipBomb sends a gigabyte of spaces.
func gzipBomb(_ context.Context, conn net.Conn, _ *http.Request) bool {
	body, err := crawltest.GzipBomb(bombSize)
	if err != nil {
		return false
	}
	_, _ = io.WriteString(conn, crawltest.Head("Content-Encoding: gzip")+string(body)) // who left has seen enough
	return true
}
