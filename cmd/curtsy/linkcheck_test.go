package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// sound is a site of pages by their paths; all else is 404.
func sound(t *testing.T, pages map[string]string) string {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	}))
	t.Cleanup(site.Close)
	return site.URL
}

// What a site writes does nothing to a terminal.
func TestCheckEscapesWhatASiteWrites(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[31m\x07\u202eevil"
	url := sound(t, map[string]string{"/": "<a href='/lost#" + evil + "'>" + evil + "</a><a href='http://[" + evil + "'>x</a><p id='" + evil + "'><p id='" + evil + "'><a href='#no" + evil + "'>f</a>"})
	r := inside(t, "linkcheck", "--delay", "0", "--dir", filepath.Join(t.TempDir(), "d"), url+"/")
	r.want(t, cli.ExitFound)
	if strings.ContainsAny(r.out+r.err, "\x1b\x07\u202e") {
		t.Errorf("%q", r.out)
	}
}

// Links that a budget kept from being tested have its name, and the check is incomplete.
func TestLinkcheck_BudgetIsIncomplete(t *testing.T) {
	t.Parallel()
	url := sound(t, map[string]string{"/": "<a href=/a>a</a><a href=/b>b</a>", "/a": "a", "/b": "b"})
	for _, flag := range []string{"max-urls", "max-pages", "max-per-host"} {
		r := ended(t, curtsy(t, "linkcheck", "--delay", "0", "--"+flag, "1", "--dir", filepath.Join(t.TempDir(), "d"), url+"/"))
		r.want(t, cli.ExitIncomplete, "2 URLs were not tested because of --"+flag)
		if !strings.Contains(r.out, "/a: budget: "+flag) {
			t.Error(r.out)
		}
	}
}

// Pages of one's own host that fail are findings: all else is tested, and the audit agrees.
func TestCheckFindsFailingPagesOfAnOwnHost(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<a href=/500/1>a</a><a href=/500/2>b</a><a href=/500/3>c</a><a href=/500/4>d</a><a href=/500/5>e</a><a href=/cut>f</a><a href=/lost>g</a>")
		case "/cut":
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "half")
		default:
			if !strings.HasPrefix(r.URL.Path, "/500/") {
				http.NotFound(w, r)
				return
			}
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer site.Close()
	dir := filepath.Join(t.TempDir(), "d")
	r := inside(t, "linkcheck", "--delay", "0", "--quiet", "--max-wait", "5s", "--dir", dir, site.URL+"/")
	r.want(t, cli.ExitFound)
	if !strings.HasPrefix(r.out, "7 broken links, in 7 places on 1 page; checked 8 URLs") {
		t.Error(r.out)
	}
	inside(t, "audit", dir).want(t, cli.ExitDone)
}

// Interrupted, a check prints what it knows, and how to continue.
func TestCheckInterruptedPrintsWhatIsKnown(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	var requests atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch requests.Add(1); r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<a href=/lost>x</a><a href=/busy>y</a>")
		case "/busy":
			w.Header().Set("Retry-After", "80")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	for _, tt := range []struct {
		name string
		sig  syscall.Signal
		code int
		args []string
		want string
	}{
		{"text, SIGTERM", syscall.SIGTERM, 143, nil, "partial, interrupted: 1 broken link, in 1 place on 1 page; checked 3 URLs"},
		{"JSON, SIGINT", syscall.SIGINT, 130, []string{"--json"}, "\"partial\": true,"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			before := requests.Load()
			cmd := curtsy(t, append([]string{"linkcheck", "--delay", "0", "--dir", dir, site.URL + "/"}, tt.args...)...)
			cmd.Env = append(cmd.Env, "GITHUB_ACTIONS=")
			wait := begun(t, cmd)
			eventually(t, "four requests", func() bool { return requests.Load() >= before+4 })
			if err := cmd.Process.Signal(tt.sig); err != nil {
				t.Fatal(err)
			}
			r := wait()
			r.want(t, tt.code, "curtsy linkcheck "+dir+" continues", "curtsy linkcheck --offline "+dir)
			if !strings.Contains(r.out, tt.want) || !strings.Contains(r.out, site.URL+"/lost") {
				t.Errorf("%s", r.out)
			}
		})
	}
}
