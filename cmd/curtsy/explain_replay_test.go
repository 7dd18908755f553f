package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"curtsy/crawler/explain"
	"curtsy/robots"
)

// robotsServers are servers whose robots.txt is had, or not had, in every way.
func robotsServers(t *testing.T) map[string]string {
	t.Helper()
	urls := map[string]string{}
	rules := "User-agent: *\nDisallow: /secret\n"
	serve := func(name string, answer http.HandlerFunc) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "robots") {
				answer(w, r)
				return
			}
			fmt.Fprint(w, "hello")
		}))
		t.Cleanup(srv.Close)
		urls[name] = srv.URL
	}
	serve("plain", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, rules) })
	serve("none", http.NotFound)
	serve("broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	serve("busy", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7200")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	serve("empty", func(http.ResponseWriter, *http.Request) {})
	serve("coded", func(w http.ResponseWriter, _ *http.Request) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		fmt.Fprint(z, rules)
		z.Close()
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(b.Bytes())
	})
	serve("wrongly coded", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "sdch")
		fmt.Fprint(w, rules)
	})
	serve("large", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, rules+strings.Repeat("Disallow: /x\n", robots.MaxBody/10))
	})
	serve("cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5000")
		fmt.Fprint(w, rules)
	})
	serve("moved", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.Redirect(w, r, "/my-robots", http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Cache-Control", "max-age=3600")
		fmt.Fprint(w, rules)
	})
	elsewhere := urls["plain"]
	serve("moved elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+"/robots.txt", http.StatusFound)
	})
	serve("endless", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) })
	return urls
}

// Whatever came of robots.txt, the archive tells it as the crawl remembers it: policy, life, failures, redirects.
func TestExplainAtNowTellsWhatTheCrawlRemembers(t *testing.T) {
	t.Parallel()
	urls := robotsServers(t)
	for _, standard := range []string{"rfc9309", "draft1996"} {
		args := []string{"crawl", "--quiet", "--delay", "0", "--max-wait", "1s", "--robots-standard", standard, "--dir", filepath.Join(t.TempDir(), "d")}
		dir := args[len(args)-1]
		if standard != "rfc9309" { // the draft says something else of these only
			urls = map[string]string{"none": urls["none"], "broken": urls["broken"], "moved": urls["moved"], "plain": urls["plain"], "large": urls["large"]}
		}
		for _, u := range urls {
			args = append(args, u+"/secret/x")
		}
		inside(t, args...)
		sources := map[string]bool{}
		for name, u := range urls {
			kept, then := explainedAs(t, dir, u+"/secret/x"), explainedAs(t, "--at", "0s", dir, u+"/secret/x")
			if kept.Robots.Source != explain.PolicyCrawl || then.Robots.Source != explain.PolicyArchive || len(then.History.Robots) == 0 {
				t.Errorf("%s, %s: %+v, from the archive %+v, %q", standard, name, kept.Robots, then.Robots, then.Notes)
			}
			kept.Robots.Source = then.Robots.Source
			if name == "moved elsewhere" { // what came under another host's lease is counted from when it is picked up
				then.Robots.Fetched, then.Robots.Expires = kept.Robots.Fetched, kept.Robots.Expires
			}
			onOneClock(&kept.Robots, &then.Robots)
			if !reflect.DeepEqual(kept.Robots, then.Robots) {
				t.Errorf("%s, %s: the crawl has\n%+v\nthe archive\n%+v\n%q", standard, name, kept.Robots, then.Robots, then.Notes)
			}
			if v := kept.Robots.Verdict; v != nil {
				sources[v.Reason] = true
			}
		}
		if len(sources) < min(4, len(urls)/2) {
			t.Errorf("only %v came about", sources)
		}
	}
}

// onOneClock makes instants of one event the same instant. What a crawl remembers must mean something to the next process,
// and is of the wall clock; the dates of its archive are of a steady one. While the wall clock is slewed they drift apart, by
// some microseconds a second.
func onOneClock(kept, then *explain.Robots) {
	for _, at := range []struct{ kept, then **time.Time }{
		{&kept.Fetched, &then.Fetched}, {&kept.Expires, &then.Expires}, {&kept.Retry, &then.Retry},
	} {
		if k, t := *at.kept, *at.then; k != nil && t != nil && k.Sub(*t).Abs() < time.Second {
			*at.then = k
		}
	}
}
