package crawltest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"curtsy/crawler/crawltest/visitor"
	"curtsy/robots/naive"
)

// rover is a polite crawler of one thread. It reads the pages themselves, with a real HTML parser, and knows nothing of
// the link graph that the sites declare: where it and the referee disagree, one of them is wrong.
type rover struct {
	*visitor.Client
	pace  time.Duration
	hosts map[string]*roverHost // by authority as in URLs
	order []*roverHost
	seen  map[string]bool
}

type roverHost struct {
	authority string
	queue     []string // URLs
	due       time.Time
	robots    string // URL that the policy is asked for at; empty when it is there
	body      []byte
	delay     time.Duration
	dead      bool
}

func newRover(c *visitor.Client, pace time.Duration, seeds []string) *rover {
	r := &rover{Client: c, pace: pace, hosts: map[string]*roverHost{}, seen: map[string]bool{}}
	for _, s := range seeds {
		u, err := url.Parse(s)
		if err != nil {
			c.T.Fatal(err)
		}
		h := &roverHost{authority: u.Host, robots: "http://" + u.Host + "/robots.txt"}
		r.hosts[u.Host] = h
		r.order = append(r.order, h)
		r.found(u, "")
	}
	return r
}

// found queues what a reference leads to, if it is on one of the seeds' hosts and not a trap.
func (r *rover) found(base *url.URL, ref string) {
	u, err := base.Parse(ref)
	if err != nil || u.Scheme != "http" || r.hosts[u.Host] == nil {
		return
	}
	target := u.EscapedPath()
	if u.RawQuery != "" {
		target += "?" + u.RawQuery
	}
	if target == "" {
		target = "/"
	}
	if strings.Contains(target, "/older/older/older/older/") || strings.Contains(target, "/x/x/x/x/") {
		return
	}
	if k := u.Host + Key(target); !r.seen[k] {
		r.seen[k] = true
		h := r.hosts[u.Host]
		h.queue = append(h.queue, "http://"+u.Host+target)
	}
}

// crawl goes on until no host has anything left.
func (r *rover) crawl() {
	for {
		var next *roverHost
		for _, h := range r.order {
			if len(h.queue) > 0 && !h.dead && (next == nil || h.due.Before(next.due)) {
				next = h
			}
		}
		if next == nil {
			return
		}
		time.Sleep(time.Until(next.due))
		if next.robots != "" {
			r.askRobots(next)
		} else {
			r.askPage(next)
		}
	}
}

// ask makes one exchange and puts off the host.
func (r *rover) ask(raw string) (*url.URL, visitor.Answer) {
	u, err := url.Parse(raw)
	if err != nil {
		r.T.Fatal(err)
	}
	h := r.hosts[u.Host]
	time.Sleep(time.Until(h.due))
	a := r.Get(raw, "Accept-Encoding", "gzip")
	h.due = time.Now().Add(max(r.pace, h.delay))
	if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil {
		h.due = time.Now().Add(max(r.pace, h.delay, time.Duration(seconds)*time.Second))
	}
	if a.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(strings.NewReader(a.Body))
		if err != nil {
			r.T.Fatal(err)
		}
		body, err := io.ReadAll(z)
		if err != nil {
			r.T.Fatal(err)
		}
		a.Body = string(body)
	}
	return u, a
}

func (r *rover) askRobots(h *roverHost) {
	u, a := r.ask(h.robots)
	h.robots = ""
	switch {
	case a.Status >= 500 || a.Status == 429:
		h.dead = true
	case a.Status >= 300 && a.Status < 400:
		to, err := u.Parse(a.Header.Get("Location"))
		if err != nil {
			r.T.Fatal(err)
		}
		h.robots = to.String()
	case a.Status < 300:
		h.body = []byte(a.Body)
		s, _ := naive.Delay(h.body, "curtsy")
		h.delay = time.Duration(s * float64(time.Second))
		h.due = time.Now().Add(max(r.pace, h.delay))
	}
}

func (r *rover) askPage(h *roverHost) {
	raw := h.queue[0]
	h.queue = h.queue[1:]
	if ok, _ := naive.Read("rfc9309", h.body, "curtsy").Allowed(strings.TrimPrefix(raw, "http://"+h.authority)); !ok {
		return
	}
	u, a := r.ask(raw)
	switch {
	case a.Status == 429 || a.Status == 503:
		h.queue = append(h.queue, raw)
	case a.Status >= 300 && a.Status < 400:
		r.found(u, a.Header.Get("Location"))
	case a.Status == 200 && strings.HasPrefix(a.Header.Get("Content-Type"), "text/html"):
		links, embeds := references(r.T, u, a)
		for _, ref := range append(embeds, links...) {
			r.found(u, ref)
		}
	}
}

// references returns the links that may be followed and the requisites of a page, resolved.
func references(t *testing.T, u *url.URL, a visitor.Answer) (links, embeds []string) {
	body, err := charset.NewReader(bytes.NewReader([]byte(a.Body)), a.Header.Get("Content-Type"))
	require.NoError(t, err)
	nofollow := strings.Contains(a.Header.Get("X-Robots-Tag"), "nofollow")
	base := u
	z := html.NewTokenizer(body)
	for z.Next() != html.ErrorToken {
		tok := z.Token()
		attr := map[string]string{}
		for _, at := range tok.Attr {
			attr[at.Key] = at.Val
		}
		resolve := func(ref string) string {
			to, err := base.Parse(ref)
			require.NoErrorf(t, err, "%s: link %q", u, ref)
			return to.String()
		}
		switch tok.Data {
		case "base":
			if base, err = u.Parse(attr["href"]); err != nil {
				t.Fatal(err)
			}
		case "meta":
			nofollow = nofollow || attr["name"] == "robots" && strings.Contains(attr["content"], "nofollow")
		case "a":
			if href, ok := attr["href"]; ok && attr["rel"] != "nofollow" {
				links = append(links, resolve(href))
			}
		case "link":
			if href, ok := attr["href"]; ok {
				embeds = append(embeds, resolve(href))
			}
		case "img", "script":
			if src, ok := attr["src"]; ok {
				embeds = append(embeds, resolve(src))
			}
			for one := range strings.SplitSeq(attr["srcset"], ",") {
				if fields := strings.Fields(one); len(fields) > 0 {
					embeds = append(embeds, resolve(fields[0]))
				}
			}
		}
	}
	if nofollow {
		links = nil
	}
	return links, embeds
}
