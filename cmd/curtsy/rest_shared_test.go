package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// wishes are responses that ask for a time, by what they are.
var wishes = map[string]func(rw http.ResponseWriter, seconds string){
	"503": func(rw http.ResponseWriter, seconds string) {
		rw.Header().Set("Retry-After", seconds)
		rw.WriteHeader(http.StatusServiceUnavailable)
	},
	"429": func(rw http.ResponseWriter, seconds string) {
		rw.Header().Set("Retry-After", seconds)
		rw.WriteHeader(http.StatusTooManyRequests)
	},
	"302": func(rw http.ResponseWriter, seconds string) {
		rw.Header().Set("Retry-After", seconds)
		rw.Header().Set("Location", "/there")
		rw.WriteHeader(http.StatusFound)
	},
	"RateLimit": func(rw http.ResponseWriter, seconds string) {
		rw.Header().Set("RateLimit", `"p";r=0;t=`+seconds)
		rw.Header().Set("Content-Type", "text/html")
		_, _ = rw.Write([]byte("<p>Bread. <a href=/more>More</a>"))
	},
}

// wishing serves a site on loopback, whose pages, or whose robots.txt where rest is "robots.txt", ask to be left alone.
func wishing(t *testing.T, rest, seconds string) (site string, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch {
		case rest == "robots.txt":
			wishes["503"](rw, seconds)
		case r.URL.Path == "/robots.txt":
			http.NotFound(rw, r)
		default:
			wishes[rest](rw, seconds)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/", asked
}

// Politeness rules 11, 14, 17, 18 and 26: what a host asked one crawl for, every other command of the same user keeps, in a
// process of its own, and says so. A host that asks for more than a day leaves the run, so nothing here waits.
func TestRule26_EveryCommandKeepsARest(t *testing.T) {
	t.Parallel()
	for _, rest := range []string{"503", "429", "robots.txt", "302", "RateLimit"} {
		t.Run(rest, func(t *testing.T) {
			t.Parallel()
			home, site := t.TempDir(), ""
			site, asked := wishing(t, rest, "100000")
			command := func(args ...string) result {
				cmd := curtsy(t, args...)
				cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+home, "LocalAppData="+home, "HOME="+home)
				return ended(t, cmd)
			}
			in := func() string { return filepath.Join(t.TempDir(), "crawl") }
			one := in()
			command("crawl", "--delay", "0", "--quiet", "--dir", one, site).want(t, cli.ExitIncomplete)
			before := asked.Load()
			if before == 0 {
				t.Fatal("the first crawl asked for nothing")
			}
			two := in()
			for name, args := range map[string][]string{
				"crawl":          {"crawl", "--delay", "0", "--dir", two, site},
				"mirror":         {"mirror", "--delay", "0", "--dir", in(), site},
				"check":          {"linkcheck", "--delay", "0", "--dir", in(), site},
				"robots check":   {"robots", "check", site + "page"},
				"identity check": {"identity", "check", "--contact", "https://bakery.test/bot", site},
			} {
				r := command(args...)
				if n := asked.Load() - before; n != 0 {
					t.Errorf("%s: %d requests come early", name, n)
					before += n
				}
				code := cli.ExitIncomplete
				if strings.Contains(name, " ") {
					code = cli.ExitFailed
				}
				r.want(t, code, "waits because of an earlier crawl or command until ")
			}
			for _, dir := range []string{one, two} {
				command("audit", dir).want(t, cli.ExitDone)
			}
			other := in()
			command("crawl", "--max-time", "1ns", "--quiet", "--dir", other, site)
			for _, args := range [][]string{{"explain", "--live", other, site + "page"}, {"crawl", "--dry-run", "--delay", "0", site}} {
				if r := command(args...); !strings.Contains(strings.Join(strings.Fields(r.out+r.err), " "), "waits because of an earlier crawl or command until ") {
					t.Errorf("%s says:\n%s%s", args[0], r.out, r.err)
				}
			}
			if n := asked.Load() - before; n != 0 {
				t.Errorf("%d requests come early, by explain --live or a dry run", n)
			}
			if said := command("status", two); !strings.Contains(said.out, "waits because of an earlier crawl or command until ") {
				t.Errorf("status says:\n%s", said.out)
			}
		})
	}
}
