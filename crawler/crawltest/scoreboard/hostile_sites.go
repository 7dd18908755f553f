package scoreboard

import (
	"context"
	"net"
	"net/http"
	"time"

	"curtsy/crawler/crawltest"
)

// Sites returns sites that misbehave, each in one way, with what a correct crawler does about it (Site.Expect). The
// first site, "wing.test", is sound and links to all others; it will do as the only seed for a crawler that goes to
// other hosts. The sites are as fit for a crawler that knows no hook as for one that does.
//
// slow is how long answers take that are slow: zero means that they never end of themselves, so that a crawler without
// a time-out of its own never ends either.
//
// Large bodies are made while they are sent. Pages called /before.html and /after.html are linked before and after the
// ill ones; the later is expected only where the host has given no reason to be left alone for a while.
func Sites(slow time.Duration) []*crawltest.Site {
	if slow == 0 {
		slow = -1
	}
	return indexed("wing.test", slowSites(slow), bodySites(), headSites(), frameSites(), redirectSites(), linkSites(),
		robotsSites(slow), refusingSites())
}

// Guarded returns sites that lead a crawler to addresses that are not public: by redirect, by name, and by a name that
// changes its address between look-ups. Sites stand at those addresses as well. They show nothing to a crawler
// without the hooks Web.Resolve and Web.Dial. The first site, "gate.test", links to the others.
func Guarded() []*crawltest.Site { return indexed("gate.test", guardedSites()) }

// indexed puts a site first that links to all others that have names.
func indexed(name string, groups ...[]*crawltest.Site) []*crawltest.Site {
	index := &crawltest.Site{Name: name}
	sites := []*crawltest.Site{index}
	var links []string
	for _, group := range groups {
		for _, s := range group {
			if sites = append(sites, s); s.Expect == nil || !s.Expect.Closed {
				links = append(links, "http://"+s.Name+"/")
			}
		}
	}
	index.Pages = map[string]crawltest.Page{"/": {Title: "The index", Text: "Who lives here.", Links: links}}
	return sites
}

// target is a page of an ill site.
type target struct {
	at   string
	page crawltest.Page
}

// raw is a target that a Raw answers.
func raw(at string, answer crawltest.Raw) target { return target{at, crawltest.Page{Raw: answer}} }

// The sound pages of an ill site.
const (
	before = "/before.html"
	after  = "/after.html"
)

// ill makes a site: a sound root that links to a sound page, to what is ill and to another sound page. e.At is what is
// ill, and the first two are expected, unless e says otherwise. A sturdy one gives no reason to be left alone, so that
// the last is expected as well.
func ill(name, what string, sturdy bool, e crawltest.Expect, targets ...target) *crawltest.Site {
	s := &crawltest.Site{Name: name, Pages: map[string]crawltest.Page{before: {}, after: {}}, Expect: &e}
	links := []string{before}
	e.Rule = crawltest.Hostile(what)
	given := e.At != nil
	for _, t := range targets {
		s.Pages[t.at] = t.page
		links = append(links, t.at)
		if !given {
			e.At = append(e.At, t.at)
		}
	}
	s.Pages["/"] = crawltest.Page{Links: append(links, after)}
	if e.Fetched == nil {
		e.Fetched = []string{"/", before}
		if sturdy {
			e.Fetched = append(e.Fetched, after)
		}
	}
	return s
}

// flow writes block again and again, until limit bytes are written. It reports whether it came to that.
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

// slowSites are slow, or silent.
func slowSites(slow time.Duration) []*crawltest.Site {
	const within = 30 * time.Minute
	return []*crawltest.Site{
		// So slow that a crawler may call it a failure of the host, and ask again later.
		ill("drip.test", "slow drip of a body", false, crawltest.Expect{Within: within},
			raw("/drip.html", crawltest.Drip(slow, crawltest.Head(), "x", time.Second))),
		// The header never comes to its end: a failure of the host, which may be left alone for it.
		ill("slow-head.test", "slow header", false, crawltest.Expect{Within: within},
			raw("/slow.html", crawltest.Drip(slow, "HTTP/1.1 200 OK\r\n", "X-Wait: a little\r\n", 5*time.Second))),
		ill("silent.test", "no answer", false, crawltest.Expect{Within: within, Most: 20},
			raw("/silent.html", silence(slow))),
	}
}

// silence never answers.
func silence(slow time.Duration) crawltest.Raw {
	return func(ctx context.Context, _ net.Conn, _ *http.Request) bool {
		crawltest.Wait(ctx, slow)
		return false
	}
}
