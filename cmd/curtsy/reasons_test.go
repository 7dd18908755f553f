package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/mirror"
)

// Links that the scope leaves out are named by their reason in missing.jsonl, the summary, explain and check.
func TestReasons_NofollowAndDepth(t *testing.T) {
	home(t, "")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<a rel="nofollow" href="/private">x</a> <a href="/a">a</a>`)
		case "/a":
			fmt.Fprint(w, `<a href="/deep">deep</a>`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "mirror", "--delay", "0", "--depth", "1", "--dir", dir, site.URL+"/").want(t, cli.ExitDone, "1 nofollow")
	b, err := os.ReadFile(filepath.Join(mirror.Tree(dir), "missing.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`/private","reason":"nofollow"`, `/deep","reason":"scope","detail":"scope:depth"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("missing.jsonl lacks %s:\n%s", want, b)
		}
	}
	if r := atHome(t, "explain", dir, site.URL+"/private"); !strings.Contains(r.out, "scope:nofollow") || strings.Contains(r.out, "perhaps among them") {
		t.Errorf("%s%s", r.out, r.err)
	}
	r := atHome(t, "linkcheck", "--offline", dir)
	for _, want := range []string{"scope:nofollow", "scope:depth"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("check lacks %q:\n%s", want, r.out)
		}
	}
}

// A URL that pages name only as a requisite is not explained as though it were a link.
func TestReasons_RequisitesThatAreLeftOut(t *testing.T) {
	home(t, "")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<img src="/i.png">`)
	}))
	t.Cleanup(site.Close)
	dir := filepath.Join(t.TempDir(), "d")
	for requisites, says := range map[string][2]string{
		"none": {"/i.png", "may be fetched, but no page has linked to it yet; as a page requisite it is out of scope: rule scope:requisites; it is not queued"},
		"host": {"/nowhere.png", "may be fetched, but no page has led to it yet; it is not queued"},
	} {
		atHome(t, "crawl", "--quiet", "--delay", "0", "--page-requisites", requisites, "--dir", dir+requisites, site.URL+"/").want(t, cli.ExitDone)
		if r := atHome(t, "explain", dir+requisites, site.URL+says[0]); !strings.HasPrefix(r.out, says[1]) {
			t.Errorf("%s: %s%s", requisites, r.out, r.err)
		}
		if r := atHome(t, "explain", dir+requisites, "http://cdn.test/x.css"); !strings.HasPrefix(r.out, "out of scope: rule scope:host\n") {
			t.Errorf("%s: %s%s", requisites, r.out, r.err)
		}
	}
	atHome(t, "crawl", "--quiet", "--delay", "0", "--page-requisites", "all", "--contact", "crawl@library.org", "--dir", dir+"all", site.URL+"/").want(t, cli.ExitDone)
	if r := atHome(t, "explain", dir+"all", "http://cdn.test/x.css"); !strings.HasPrefix(r.out, "out of scope: rule scope:host; as a page requisite it would be in, by rule scope:requisites\n") {
		t.Errorf("%s%s", r.out, r.err)
	}
}

// Links whose host has no public address, and links that wait in the queue, are not tested for just that reason.
func TestReasons_PrivateAddressAndQueue(t *testing.T) {
	home(t, "")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href="http://10.1.2.3/private">p</a> <img src="/i.png">`)
	}))
	t.Cleanup(site.Close)
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "mirror", "--delay", "0", "--page-requisites", "none", "--scope", "any", "--max-pages", "9", "--contact", "crawl@library.org", "--dir", dir, site.URL+"/")
	atHome(t, "frontier", "add", dir, site.URL+"/i.png").want(t, cli.ExitDone)
	atHome(t, "mirror", "rebuild", dir)
	b, err := os.ReadFile(filepath.Join(mirror.Tree(dir), "missing.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	check := atHome(t, "linkcheck", "--offline", dir).out
	for url, says := range map[string][3]string{
		"http://10.1.2.3/private": {`"reason":"robots","detail":"robots.txt: private address"`, "nothing may be fetched: robots.txt is unavailable (its address is not public)", "its address is not public"},
		site.URL + "/i.png":       {`"reason":"not fetched","detail":"still queued"`, "may be fetched; it is due when the crawl continues", "still queued"},
	} {
		if !strings.Contains(string(b), url+`",`+says[0]) {
			t.Errorf("missing.jsonl does not name why %s is missing:\n%s", url, b)
		}
		if r := atHome(t, "explain", dir, url); !strings.HasPrefix(r.out, says[1]) {
			t.Errorf("%s%s", r.out, r.err)
		}
		if !strings.Contains(check, url+": "+says[2]+"\n") {
			t.Errorf("linkcheck does not name why %s is not tested:\n%s", url, check)
		}
	}
}

// No reason hides behind "not fetched" or "not asked for".
func TestReasons_EachRuleOfTheScope(t *testing.T) {
	home(t, "")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<a href="/excluded">e</a> <a href="/not-included">n</a> <a href="/in/x.pdf">z</a> <img src="/in/p.svg">`)
		case "/in/p.svg":
			w.Header().Set("Content-Type", "image/svg+xml")
			fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg"><a href="/in/linked"><text>l</text></a></svg>`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "mirror", "--delay", "0", "--include", "/$", "--include", "/in/", "--exclude", "/excluded", "--accept", ".svg", "--dir", dir, site.URL+"/")
	b, err := os.ReadFile(filepath.Join(mirror.Tree(dir), "missing.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	check := atHome(t, "linkcheck", "--offline", "--json", dir).out
	for path, rule := range map[string]string{"/excluded": "scope:exclude", "/not-included": "scope:include", "/in/x.pdf": "scope:accept"} {
		if !strings.Contains(string(b), path+`","reason":"scope","detail":"`+rule) {
			t.Errorf("missing.jsonl does not name %s of %s", rule, path)
		}
		if !strings.Contains(check, rule) {
			t.Errorf("check does not name %s", rule)
		}
	}
	if strings.Contains(string(b), "not fetched") || strings.Contains(check, "not checked") {
		t.Errorf("a reason is not named:\n%s\n%s", b, check)
	}
}
