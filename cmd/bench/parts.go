package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"time"

	"curtsy/storage/plainly"
)

// What a loop cannot do without is measured in each round, by a process that does nothing else: pages are read over a
// plain connection, parsed with x/net/html, and their links resolved with net/url. The bare loop is held against that.

// Parts is processor time per page.
type Parts struct {
	Pages int     `json:"pages"`
	Fetch float64 `json:"fetch_cpu_ms_per_page"`
	Parse float64 `json:"parse_cpu_ms_per_page"`
}

// PartsPages are enough for a figure: 10 MiB of pages.
const PartsPages = 500

// measureParts has the parts measured, if the bare loop is there to be held against them.
func (p *Plan) measureParts(ctx context.Context, m *measuring, r *Result) error {
	if !p.has(nameBare) {
		return nil
	}
	var parts Parts
	err := p.ask(ctx, m, &parts, "parts", "--memory-limit", plainly.Size(p.memory))
	r.Parts = append(r.Parts, parts)
	return err
}

// MeasureParts follows links from seed after seed, each within its host, to as many pages as that in all.
func MeasureParts(ctx context.Context, seeds []string, most int) (parts Parts, err error) {
	var fetch, parse time.Duration
	for _, seed := range seeds {
		if parts.Pages >= most {
			break
		}
		host, err := partsAt(ctx, seed, most-parts.Pages)
		if err != nil {
			return parts, err
		}
		parts.Pages, fetch, parse = parts.Pages+host.pages, fetch+host.fetch, parse+host.parse
	}
	parts.Fetch, parts.Parse = 1e3*fetch.Seconds()/float64(parts.Pages), 1e3*parse.Seconds()/float64(parts.Pages)
	return parts, nil
}

// hostParts is what the pages of a host took.
type hostParts struct {
	pages        int
	fetch, parse time.Duration
}

func partsAt(ctx context.Context, seed string, most int) (p hostParts, err error) {
	root, err := url.Parse(seed)
	if err != nil {
		return p, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", root.Host)
	if err != nil {
		return p, err
	}
	defer func() { _ = conn.Close() }() // nothing was kept of it
	in, page := bufio.NewReaderSize(conn, 32<<10), new(bytes.Buffer)
	seen, queue := map[string]bool{seed: true}, []string{seed}
	for ; len(queue) > 0 && p.pages < most; p.pages++ {
		if err := ctx.Err(); err != nil {
			return p, err
		}
		u, err := url.Parse(queue[0])
		if err != nil {
			return p, err
		}
		page.Reset()
		begun := ownCPU()
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", u.RequestURI(), u.Host); err != nil {
			return p, err
		}
		if err := readAnswer(in, page); err != nil {
			return p, err
		}
		read := ownCPU()
		links, err := bareLinks(u, page.Bytes())
		if err != nil {
			return p, err
		}
		p.fetch, p.parse = p.fetch+read-begun, p.parse+ownCPU()-read
		queue = queue[1:]
		for _, to := range links {
			if at, err := url.Parse(to); err == nil && at.Host == root.Host && !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return p, nil
}

// readAnswer reads an answer with a Content-Length, and gives its body away.
func readAnswer(in *bufio.Reader, body io.Writer) error {
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length:")); ok {
			for _, c := range bytes.TrimSpace(value) {
				length = 10*length + int(c-'0')
			}
		}
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
	}
	_, err := io.CopyN(body, in, int64(length))
	return err
}
