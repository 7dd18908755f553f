package scoreboard

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"curtsy/crawler/crawltest"
)

// robotsSites have a robots.txt that is hard to swallow. Their pages are sound.
func robotsSites(slow time.Duration) []*crawltest.Site {
	const closed = "User-agent: *\nDisallow: /closed/\n"
	site := func(name, what string, robots crawltest.Robots, e crawltest.Expect) *crawltest.Site {
		s := ill(name, what, false, e, target{"/closed/page.html", crawltest.Page{}})
		s.Robots, s.Expect.At = robots, []string{crawltest.RobotsPath}
		return s
	}
	fetched := crawltest.Expect{Left: []string{"/closed/"}, Fetched: []string{"/", before, after}}
	left := crawltest.Expect{Left: []string{"/", before, after, "/closed/"}, Fetched: []string{}, Most: 40}
	edge := fetched
	edge.Left = []string{"/closed/", "/edge.html"}
	edge.Octets = 8 << 20
	huge := site("huge-robots.test", "robots.txt of 50 MiB", crawltest.Robots{Raw: hugeRobots}, edge)
	huge.Pages["/edge.html"], huge.Pages["/late.html"] = crawltest.Page{}, crawltest.Page{}
	root := huge.Pages["/"]
	root.Links = append(root.Links, "/edge.html", "/late.html")
	huge.Pages["/"] = root
	loop := site("robots-loop.test", "robots.txt redirected in a loop", crawltest.Robots{Redirect: "/robots/a.txt"}, left)
	loop.Pages["/robots/a.txt"] = crawltest.Page{Redirect: "/robots/b.txt"}
	loop.Pages["/robots/b.txt"] = crawltest.Page{Redirect: "/robots.txt"}
	return []*crawltest.Site{
		huge, loop,
		site("html-robots.test", "HTML as robots.txt", crawltest.Robots{
			Body:   "<!DOCTYPE html>\n<html><title>Not found</title>\n" + closed + "</html>\n",
			Header: map[string]string{"Content-Type": "text/html"},
		}, fetched),
		site("robots-404.test", "robots.txt 404", crawltest.Robots{Status: http.StatusNotFound},
			crawltest.Expect{Fetched: fetched.Fetched}),
		site("robots-403.test", "robots.txt 403", crawltest.Robots{Status: http.StatusForbidden},
			crawltest.Expect{Fetched: []string{}}),
		site("robots-503.test", "robots.txt 503", crawltest.Robots{Status: http.StatusServiceUnavailable}, left),
		site("robots-429.test", "robots.txt 429", crawltest.Robots{Status: http.StatusTooManyRequests}, left),
		site("robots-silent.test", "robots.txt not answered", crawltest.Robots{Raw: silence(slow)}, left),
		site("robots-reset.test", "robots.txt reset", crawltest.Robots{
			Raw: crawltest.Cut("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n" + closed),
		}, left),
	}
}

// parseLimit is how much of a robots.txt counts at least (RFC 9309 2.5).
const parseLimit = 500 << 10

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

// refusingSites want to be left alone, for longer than can be.
func refusingSites() []*crawltest.Site {
	busy := func(name, what, value string) *crawltest.Site {
		return ill(name, what, false, crawltest.Expect{Most: 10},
			target{"/busy.html", crawltest.Page{Status: http.StatusServiceUnavailable, RetryAfter: value}})
	}
	return []*crawltest.Site{
		busy("rest-long.test", "Retry-After of 31 years", "999999999"),
		busy("rest-garbage.test", "Retry-After that is garbage", "soon"),
	}
}

// guardedSites lead to addresses that are not public, where sites wait for who comes.
func guardedSites() []*crawltest.Site {
	var inner []*crawltest.Site
	var targets []target
	for i, addr := range []string{"127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1"} {
		inner = append(inner, &crawltest.Site{
			Name: addr, Pages: map[string]crawltest.Page{"/": {}, "/latest/meta-data/": {}},
			Expect: &crawltest.Expect{Rule: crawltest.Hostile("addresses that are not public"), Closed: true},
		})
		targets = append(targets,
			target{fmt.Sprintf("/inward/%d", i), crawltest.Page{Redirect: "http://" + addr + "/latest/meta-data/"}})
	}
	const what = "addresses that are not public"
	private := netip.MustParseAddr("10.0.0.1")
	inward := ill("inward.test", what, true, crawltest.Expect{}, targets...)
	robots := &crawltest.Site{
		Name: "inward-robots.test", Robots: crawltest.Robots{Redirect: "http://169.254.169.254/robots.txt"},
		Pages:  map[string]crawltest.Page{"/": {}},
		Expect: &crawltest.Expect{Rule: crawltest.Hostile(what), At: []string{crawltest.RobotsPath}, Left: []string{"/"}},
	}
	intranet := &crawltest.Site{Name: "intranet.test", Addrs: []netip.Addr{private},
		Pages:  map[string]crawltest.Page{"/": {}},
		Expect: &crawltest.Expect{Rule: crawltest.Hostile("name with a private address")}}
	// A crawler may keep what a look-up said for a while: the delay makes it ask again.
	rebind := ill("rebind.test", "name that changes to a private address", false, crawltest.Expect{Fetched: []string{}})
	rebind.Addrs = []netip.Addr{{}, private}
	rebind.Robots = crawltest.Robots{Body: "User-agent: *\nCrawl-delay: 61\n",
		Header: map[string]string{"Connection": "close"}}
	return append([]*crawltest.Site{inward, robots, intranet, rebind}, inner...)
}
