package trial

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

func (h *trialHost) robots(now time.Time, n int) *answer {
	d := throw(h.w.seed, "robots", h.name)
	t := throw(h.w.seed, "robots", h.name, now.Truncate(3*time.Minute).String())
	rules := h.rules
	if throw(h.w.seed, "changes", h.name).in(3) { // its rules change while the crawl runs, and sometimes its kind
		if d = t; d.in(3) {
			rules = rulesKinds[d.IntN(len(rulesKinds))]
		}
	}
	a := &answer{status: 200, media: "text/plain", body: []byte(h.text(d)), latency: h.slow}
	switch rules {
	case "none":
		a.status = []int{404, 410, 404, 451}[d.IntN(4)]
	case "odd":
		a.media = d.one("text/html", "", "text/plain; charset=utf-16", "application/octet-stream", "text/plain, text/plain")
		a.body = []byte(d.one("\ufeff", "<html>", "\x00", "") + string(a.body) + d.octets(d.IntN(2000)))
	case "moved":
		a.status = []int{301, 302, 303, 307, 308}[d.IntN(5)]
		a.field("Location", d.one("", "http://"+h.name)+"/rules"+h.tail(d, 0))
	case "elsewhere":
		a.status = 302
		to := h.w.host(d.IntN(h.w.hosts))
		a.field("Location", d.one("http://", "//")+to.name+d.one("/robots.txt", "/rules"+h.tail(d, 0), "/"))
	case "late":
		if n < 2 && t.in(2) {
			a.status = 500 + t.IntN(20)
		}
	case "busy":
		if t.in(2) {
			a.status = []int{429, 503, 408, 425}[t.IntN(4)]
			a.field("Retry-After", h.retry(t, now))
		}
	case "closed":
		a.status = []int{401, 403, 407}[d.IntN(3)]
	case "long":
		a.body = append(a.body, "\nDisallow: /after\n"+strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", d.IntN(600))+"User-agent: *\nDisallow: /p1\n"...)
	case "cut":
		a.cut = d.IntN(len(a.body) + 1)
		if d.in(3) {
			a.cut = 0
		}
	case "status":
		a.status = []int{204, 206, 203, 226, 304, 300, 600, 999, 100 + d.IntN(900)}[d.IntN(9)]
	}
	h.dress(d, a)
	if rules == "coded" {
		a.code(d)
	}
	if rules == "short" || d.in(4) {
		a.field("Cache-Control", d.one("max-age=1", "no-store", "max-age=0, must-revalidate", "max-age=400", "max-age=abc", "public, max-age=\"86400\"", "max-age=99999999999999999999", "private"))
		if d.in(2) {
			a.field(d.one("Expires", "Age"), d.one("0", "1000", "Thu, 01 Jan 1998 00:00:00 GMT", now.Add(time.Hour).UTC().Format(http.TimeFormat)))
		}
	}
	if d.in(3) {
		a.tag = fmt.Sprintf(`"%d"`, d.Uint32())
	}
	return a
}

func (h *trialHost) tail(d dice, hop int) string { return fmt.Sprintf("/%d", hop) + d.target() }

func (h *trialHost) moved(target string) *answer {
	var hop int
	fmt.Sscanf(target, "/rules/%d", &hop)
	d := throw(h.w.seed, "moved", h.name, target)
	a := &answer{status: 200, media: "text/plain", body: []byte(h.text(d)), latency: h.slow}
	far := throw(h.w.seed, "far", h.name) // to just before the most redirects that any standard follows, or beyond
	switch {
	case far.in(4) && hop < 3+far.IntN(9), d.in(3) && hop < 8:
		a.status = 301
		a.field("Location", "/rules"+h.tail(d, hop+1))
	case d.in(6):
		a.status = 302
		a.field("Location", d.one("", "/robots.txt", target, "ftp://x/", "http://", "http://h.invalid:99999/", "http:// /", "?", "mailto:x"))
	case d.in(6):
		a.status = []int{404, 503, 403}[d.IntN(3)]
	}
	h.dress(d, a)
	return a
}

func (h *trialHost) text(d dice) string {
	end := d.one("\n", "\n", "\r\n", "\r")
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+end, args...) }
	for range d.IntN(4) {
		for range 1 + d.IntN(2) {
			line("%s: %s", d.one("User-agent", "user-agent ", "USER-AGENT", "User agent"), d.one("*", "curtsy", "Curtsy/1.0", "owl", "* # all", "curtsybot"))
		}
		for range d.IntN(6) {
			line("%s: %s", d.one("Disallow", "disallow", "Allow", "Disallow", "Disalow", "Noindex"), h.pattern(d))
		}
		switch {
		case d.in(6):
			line("Crawl-delay: %s", d.one("0.5", "2", "3.7", "abc", "1e1", "20", "-1"))
		case d.in(10):
			line("Request-rate: %s", d.one("1/3", "2/5s", "1/1m", "0/5", "x"))
		}
		if d.in(4) {
			line("%s", d.octets(d.IntN(60)))
		}
	}
	if d.in(3) {
		line("Sitemap: %s", d.one("/sitemap.xml", "http://"+h.name+"/sitemap.xml", "/robots.txt"))
	}
	return b.String()
}

func (h *trialHost) linkedRules(d dice) string {
	to := h
	if d.in(3) {
		to = h.w.host(d.IntN(h.w.hosts))
	}
	path := d.one("/robots.txt", "/robots.txt", "/%72obots.txt", "/robots.txt?", "/x/../robots.txt")
	if to == h && d.in(2) {
		return path
	}
	return "http://" + to.name + path
}

func (h *trialHost) sitemap(d dice) *answer {
	a := &answer{status: 200, media: "application/xml", latency: h.slow}
	list, entry := d.one("urlset", "sitemapindex"), "url"
	if list == "sitemapindex" {
		entry = "sitemap"
	}
	a.body = fmt.Appendf(nil, "<%s><%s><loc>http://%s/robots.txt</loc></%s></%s>", list, entry, h.name, entry, list)
	if list == "urlset" && d.in(2) {
		a.media, a.body = "text/plain", fmt.Appendf(nil, "http://%s/\nhttp://%s/robots.txt\n", h.name, h.name)
	}
	return a
}

func (h *trialHost) pattern(d dice) string {
	switch d.IntN(8) {
	case 0:
		return d.one("", "/", "*", "$", "/$", "/*")
	case 1:
		return d.target()
	case 2:
		t := []byte(d.target())
		t[d.IntN(len(t))] = '*'
		return string(t) + d.one("", "$", "*")
	case 3:
		return "/p" + d.one("1", "2", "3*", "*4$", "%31")
	}
	p := h.page(1 + d.IntN(h.pages))
	return p[:min(len(p), 1+d.IntN(12))] + d.one("", "", "$", "*")
}
