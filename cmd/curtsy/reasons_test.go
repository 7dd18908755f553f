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
	r := atHome(t, "check", "--offline", dir)
	for _, want := range []string{"scope:nofollow", "scope:depth"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("check lacks %q:\n%s", want, r.out)
		}
	}
}
