package scoreboard

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"curtsy/crawler/crawltest"
)

//go:embed hostile.txt
var hostileText string

// Sites returns sites that misbehave, each in one way and with an Expect. The first site, "wing.test", links to all
// others. slow is how long slow responses take; with zero they never end. Sound pages, /before.html and /after.html, are
// linked before and after the others; the latter is expected only where the host gives no reason to back off.
func Sites(slow time.Duration) []*crawltest.Site { return hostile("wing.test", slow) }

// Guarded returns sites that lead a crawler to addresses that are not public: by redirect, by name, and by a name that
// changes its address between lookups, and sites at those addresses. They need Web.Resolve and Web.Dial. The first site,
// "gate.test", links to the others.
func Guarded() []*crawltest.Site { return hostile("gate.test", 0) }

const (
	before = "/before.html"
	after  = "/after.html"
)

// hostile returns the sites of an index in the text, the index first.
func hostile(name string, slow time.Duration) []*crawltest.Site {
	if slow == 0 {
		slow = -1
	}
	answers := raws(slow)
	var index, s *crawltest.Site
	var sites []*crawltest.Site
	var links []string
	wanted, bare, at := false, false, false
	for e := range crawltest.Entries(hostileText) {
		switch {
		case e.Site && len(e.Words) == 1:
			if wanted = e.Words[0] == name; wanted {
				index = &crawltest.Site{Name: name}
				sites = append(sites, index)
			}
		case !wanted:
		case e.Site:
			s = &crawltest.Site{Name: e.Words[0], Pages: map[string]crawltest.Page{}, Traps: traps[e.Words[0]], Expect: expect(&e)}
			for _, addr := range strings.Fields(e.Field("Addrs")) {
				a, _ := netip.ParseAddr(addr) // an invalid one is the web's own address
				s.Addrs = append(s.Addrs, a)
			}
			if bare, at = e.Field("Bare") != "", s.Expect.At != nil; !bare {
				s.Pages = map[string]crawltest.Page{"/": {Links: []string{before, after}}, before: {}, after: {}}
			}
			if sites = append(sites, s); !s.Expect.Closed {
				links = append(links, "http://"+s.Name+"/")
			}
		default:
			for _, target := range e.Words {
				p := e.Page()
				p.Raw = raw(&e, answers)
				s.Pages[target] = p
				if bare || target == crawltest.RobotsPath || e.Field("Aside") != "" {
					continue
				}
				root := s.Pages["/"]
				root.Links = append(root.Links[:len(root.Links)-1], target, after)
				if s.Pages["/"] = root; !at {
					s.Expect.At = append(s.Expect.At, target)
				}
			}
		}
	}
	index.Pages = map[string]crawltest.Page{"/": {Title: "The index", Text: "Who lives here.", Links: links}}
	return sites
}

// expect returns the Expect of a site: by default its root and the first sound page are fetched, of a sturdy one also the
// last.
func expect(e *crawltest.Entry) *crawltest.Expect {
	x := &crawltest.Expect{Rule: crawltest.Hostile(strings.Join(e.Words[1:], " "))}
	e.Fill(x)
	switch {
	case e.Field("Fetched") == "-":
		x.Fetched = []string{}
	case x.Fetched != nil || e.Field("Bare") != "":
	case e.Field("Sturdy") != "":
		x.Fetched = []string{"/", before, after}
	default:
		x.Fetched = []string{"/", before}
	}
	return x
}

// raw returns the Raw of a page, or nil.
func raw(e *crawltest.Entry, named map[string]crawltest.Raw) crawltest.Raw {
	text := func(field string) string {
		return strings.NewReplacer("$HEAD", strings.TrimSuffix(crawltest.Head(), "\r\n"),
			"$PAGE", "<!DOCTYPE html><title>Hm</title><p>Hm.</p>").Replace(e.Field(field))
	}
	switch {
	case e.Field("Say") != "":
		return crawltest.Say(text("Say"), true)
	case e.Field("Fail") != "":
		return crawltest.Say(text("Fail"), false)
	case e.Field("Cut") != "":
		return crawltest.Cut(text("Cut"))
	}
	return named[e.Field("Raw")]
}

// raws are the responses that are code.
func raws(slow time.Duration) map[string]crawltest.Raw {
	coded := func(coding, body string) crawltest.Raw {
		return crawltest.Say(crawltest.Head("Content-Encoding: "+coding)+body, true)
	}
	page := func(title string) string { return crawltest.Head() + "<!DOCTYPE html><title>" + title + "</title>" }
	var fonts strings.Builder
	for i := range 400 {
		fmt.Fprintf(&fonts, "<font size=%d>", i)
	}
	return map[string]crawltest.Raw{
		"drip":      crawltest.Drip(slow, crawltest.Head(), "x", time.Second),
		"slow head": crawltest.Drip(slow, "HTTP/1.1 200 OK\r\n", "X-Wait: a little\r\n", 5*time.Second),
		"silence":   func(ctx context.Context, _ net.Conn, _ *http.Request) bool { crawltest.Wait(ctx, slow); return false },
		"nothing":   crawltest.Say("", false),
		"gzip bomb": gzipBomb, "br bomb": coded("br", crawltest.BrotliBomb),
		"zstd bomb":   coded("zstd", crawltest.ZstdBomb(bombSize, crawltest.UsualWindow)),
		"zstd window": coded("zstd", crawltest.ZstdBomb(bombSize, crawltest.HugeWindow)),
		"huge robots": hugeRobots, "many links": manyLinks,
		// Half a GiB without a declared length.
		"endless body": flood(true, page("On and on"), "<p>and so on</p>\n", 32<<20, ""),
		// 1 MiB of header fields.
		"huge head": flood(false, "HTTP/1.1 200 OK\r\n", "X-Padding: "+strings.Repeat("x", 1000)+"\r\n", 1<<10, "Content-Length: 0\r\n\r\n"),
		// RFC 8297.
		"endless hints": flood(false, "", "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n", 256<<10, ""),
		"nested":        flood(true, page("Nested"), "<div>", 100_000, ""),
		// 24 MiB of the shortest elements.
		"dense": flood(true, page("Dense"), "<p>x", 6<<20, ""),
		// Each paragraph re-opens 400 formatting elements (HTML Standard 13.2.4.3): 400 KiB become forty million elements.
		"anew": flood(true, page("Anew")+"<p>"+fonts.String(), "<p>x", 100_000, ""),
	}
}

var traps = map[string][]crawltest.Trap{
	"onward.test":   {{Prefix: "/on/", Most: 32, Page: onward}},
	"calendar.test": {{Prefix: "/calendar?month=", Most: 1100, Page: month}},
	"tree.test": {{Prefix: "/deep/deeper/", Most: 50,
		Page: func(string) crawltest.Page { return crawltest.Page{Links: []string{"deeper/"}} }}},
}

func onward(at string) crawltest.Page {
	var n int
	_, _ = fmt.Sscanf(at, "/on/%d", &n) // an invalid number leads to 1
	return crawltest.Page{Redirect: fmt.Sprintf("/on/%d", n+1)}
}

// month is a page of an empty calendar.
func month(at string) crawltest.Page {
	var n int
	_, _ = fmt.Sscanf(at, "/calendar?month=%d", &n) // an invalid number leads to 1
	next := fmt.Sprintf("/calendar?month=%d", n+1)
	return crawltest.Page{
		Body:  "<!DOCTYPE html><title>Calendar</title><p>No appointments.</p><a href=\"" + next + "\">Next month</a>",
		Links: []string{next},
	}
}

// manyLinks has 100,000 disallowed links.
func manyLinks(_ context.Context, conn net.Conn, _ *http.Request) bool {
	var b bytes.Buffer
	b.WriteString(crawltest.Head() + "<!DOCTYPE html><title>Links</title>")
	for i := range 100_000 {
		fmt.Fprintf(&b, "<a href=\"/l/%d.html\">%d</a>\n", i, i)
	}
	_, _ = b.WriteTo(conn) // the client may have disconnected
	return true
}

const bombSize = 1 << 30 // decoded bytes

// flood returns a Raw that writes a piece so many times between a head and a tail.
func flood(sound bool, head, piece string, times int, tail string) crawltest.Raw {
	return func(_ context.Context, conn net.Conn, _ *http.Request) bool {
		_, err := io.WriteString(conn, head)
		block := []byte(strings.Repeat(piece, 1+32<<10/len(piece)))
		if err == nil && flow(conn, block, int64(times)*int64(len(piece))) {
			_, _ = io.WriteString(conn, tail) // the client may have disconnected
		}
		return sound
	}
}

func gzipBomb(_ context.Context, conn net.Conn, _ *http.Request) bool {
	body, err := crawltest.GzipBomb(bombSize)
	if err != nil {
		return false
	}
	_, _ = io.WriteString(conn, crawltest.Head("Content-Encoding: gzip")+string(body)) // the client may have disconnected
	return true
}

const parseLimit = 500 << 10 // RFC 9309 2.5

// hugeRobots sends 50 MiB: rules at the beginning, one that ends just within the limit, and one far beyond it.
func hugeRobots(_ context.Context, conn net.Conn, _ *http.Request) bool {
	const whole = 50 << 20
	const first = "User-agent: *\nDisallow: /closed/\n"
	const edge = "\nDisallow: /edge.html\n"
	const late = "\nDisallow: /late.html\n"
	comment := []byte("# " + strings.Repeat("x", 1021) + "\n")
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
		whole)
	_, err := io.WriteString(conn, head+first)
	if err != nil || !flow(conn, comment, parseLimit-int64(len(first)+len(edge))) {
		return true
	}
	if _, err = io.WriteString(conn, edge); err != nil || !flow(conn, comment, 2<<20) {
		return true
	}
	if _, err = io.WriteString(conn, late); err == nil {
		flow(conn, comment, whole-parseLimit-2<<20-int64(len(late)))
	}
	return true
}

// flow writes block repeatedly and reports whether limit bytes were written.
func flow(conn net.Conn, block []byte, limit int64) bool {
	for limit > 0 {
		n, err := conn.Write(block[:min(int64(len(block)), limit)])
		if err != nil {
			return false
		}
		limit -= int64(n)
	}
	return true
}
