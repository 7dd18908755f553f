package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/explain"
	"curtsy/robots"
)

func explainedAs(t *testing.T, args ...string) explanation {
	t.Helper()
	r := inside(t, append([]string{"explain", "--json"}, args...)...)
	r.want(t, cli.ExitDone)
	var e explanation
	require.NoErrorf(t, json.Unmarshal([]byte(r.out), &e), "in %s", r.out)
	return e
}

func TestAtIsReadInEveryForm(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	want := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for _, text := range []string{"2026-11-21T10:00:00Z", "2026-11-21 10:00", "2026-11-21T11:00:00+01:00", "2026-11-21 10:00:00", "-23h"} {
		if got, err := parseAt(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// jsonNames collects the JSON names of a type's fields, nested types included.
func jsonNames(of reflect.Type, names map[string]bool) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		jsonNames(of.Elem(), names)
		return
	case reflect.Struct:
	default:
		return
	}
	if of == reflect.TypeFor[time.Time]() {
		return
	}
	for f := range of.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names[name] = true
		}
		if f.IsExported() {
			jsonNames(f.Type, names)
		}
	}
}

func TestExplainDocHasTheFieldsAndTheWords(t *testing.T) {
	t.Parallel()
	b := fileOf(t, filepath.Join("..", "..", "docs", "guides", "report.md"))
	written := map[string]bool{}
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(b), -1) {
		written[m[1]] = true
	}
	names := map[string]bool{}
	jsonNames(reflect.TypeFor[explanation](), names)
	for _, word := range explain.Answers() {
		names[word] = true
	}
	require.GreaterOrEqualf(t, len(names), 80, "only %d names", len(names))
	for name := range names {
		assert.Truef(t, written[name], "docs/guides/report.md has no `%s`", name)
	}
}

// robotsServers are servers with every kind of robots.txt response.
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
		w.Header().Set("Content-Encoding", "gzip")
		fmt.Fprint(w, gzipped(rules))
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

// The archive gives the same robots.txt policy as the memory of the crawl.
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
			if name == "moved elsewhere" { // the lifetime of a policy fetched for another host starts when this host first uses it
				then.Robots.Fetched, then.Robots.Expires = kept.Robots.Fetched, kept.Robots.Expires
			}
			onOneClock(&kept.Robots, &then.Robots)
			assert.Equalf(t, then.Robots, kept.Robots, "%s, %s: the crawl has\n%+v\nthe archive\n%+v\n%q", standard, name, kept.Robots, then.Robots, then.Notes)
			if v := kept.Robots.Verdict; v != nil {
				sources[v.Reason] = true
			}
		}
		assert.GreaterOrEqualf(t, len(sources), min(4, len(urls)/2), "only %v came about", sources)
	}
}

// onOneClock equates instants of one event: the crawl remembers the wall clock, the archive has a steady one, and while the wall
// clock is slewed they drift apart.
func onOneClock(kept, then *explain.Robots) {
	for _, at := range []struct{ kept, then **time.Time }{
		{&kept.Fetched, &then.Fetched}, {&kept.Expires, &then.Expires}, {&kept.Retry, &then.Retry},
	} {
		if k, t := *at.kept, *at.then; k != nil && t != nil && k.Sub(*t).Abs() < time.Second {
			*at.then = k
		}
	}
}
