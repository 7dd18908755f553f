package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/storage/mirror"
)

// guideSite serves /guide/, whose page needs a style sheet of the same host outside /guide/ and that sheet a picture, and
// links to a page outside /guide/. more is added to the page.
func guideSite(t *testing.T, more string) *httptest.Server {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/guide/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<link rel="stylesheet" href="/shared/s.css"><a href="/other/">other</a>`+more)
		case "/shared/s.css":
			w.Header().Set("Content-Type", "text/css")
			fmt.Fprint(w, `body { background: url(p.png) }`)
		case "/shared/p.png", "/other/":
			w.Header().Set("Content-Type", "image/png")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	return site
}

// Without a contact, a mirror of a loopback site has what its pages need of their own host, wherever it is there. What they
// need of other hosts is counted in one sentence with the commands that get it, and the mirror is incomplete, unless
// --page-requisites leaves it out in so many words.
func TestMirror_WithoutContact(t *testing.T) {
	t.Parallel()
	const other = `<img src="http://pictures.example/x.png">`
	for _, c := range []struct {
		rule, page string
		args       []string
		code       int
		want       []string // in standard error
		has        []string // in the mirror, of the files outside /guide/
	}{
		{"requisites of the seed's host belong", "", nil, cli.ExitDone, nil, []string{"shared/p.png", "shared/s.css"}},
		{"a prefix or the seeds alone", "", []string{"--scope", "seeds"}, cli.ExitDone, nil, []string{"shared/p.png", "shared/s.css"}},
		{"other hosts are named as missing", other, nil, cli.ExitIncomplete,
			[]string{"pages lack 1 file of other hosts", "curtsy update --contact ADDRESS --page-requisites all,script "}, []string{"shared/p.png", "shared/s.css"}},
		{"all in so many words is no different", other, []string{"--page-requisites", "all"}, cli.ExitIncomplete,
			[]string{"pages lack 1 file of other hosts", "curtsy update --contact ADDRESS --page-requisites all "}, []string{"shared/p.png", "shared/s.css"}},
		{"nor is all,script", other, []string{"--page-requisites", "all,script"}, cli.ExitIncomplete,
			[]string{"pages lack 1 file of other hosts", "curtsy update --contact ADDRESS --page-requisites all,script "}, []string{"shared/p.png", "shared/s.css"}},
		{"an option that leaves requisites out is named", other, []string{"--page-requisites", "scope"}, cli.ExitDone,
			[]string{"pages lack 2 files that --page-requisites scope leaves out", "curtsy update --contact ADDRESS --page-requisites all "}, nil},
		{"so is none", "", []string{"--page-requisites", "none"}, cli.ExitDone,
			[]string{"pages lack 1 file that --page-requisites none leaves out", "curtsy update --page-requisites host "}, nil},
		{"and quiet says it as well", other, []string{"--quiet"}, cli.ExitIncomplete,
			[]string{"pages lack 1 file of other hosts"}, []string{"shared/p.png", "shared/s.css"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			site := guideSite(t, c.page)
			dir := filepath.Join(t.TempDir(), "d")
			args := append([]string{"mirror", "--json", "--delay", "0", "--dir", dir}, c.args...)
			r := inside(t, append(args, site.URL+"/guide/")...)
			r.want(t, c.code, c.want...)
			if c.want == nil && strings.Contains(r.err, "pages lack") {
				t.Errorf("nothing is missing: %s", r.err)
			}
			var out struct {
				Mirror crawlcmd.Built `json:"mirror"`
			}
			if err := json.Unmarshal([]byte(r.out), &out); err != nil || (len(out.Mirror.Lacks) > 0) != (c.want != nil) {
				t.Errorf("%v: lacks %+v", err, out.Mirror.Lacks)
			}
			var has []string
			for name := range filesOf(t, mirror.Tree(dir)) {
				if _, rest, ok := strings.Cut(name, "/"); ok && !strings.HasPrefix(rest, "guide/") {
					has = append(has, rest)
				}
			}
			slices.Sort(has)
			if !slices.Equal(has, c.has) {
				t.Errorf("the mirror has %q, want %q", has, c.has)
			}
		})
	}
}

// The summary begins with the files that an option or a budget left out of pages, and a command that fetches them. missing.jsonl
// has the reason. A budget makes the mirror incomplete, and what the user left out in so many words does not.
func TestMirror_LeftOutByOptions(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/guide/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<link rel="stylesheet" href="s.css"><img src="a.png"><img src="b.png"><script src="s.js"></script><a href="p1">1</a><a href="p2">2</a>`)
		case strings.HasSuffix(path, ".css"):
			w.Header().Set("Content-Type", "text/css")
			fmt.Fprint(w, `body { background: url(p.png) }`)
		case strings.HasSuffix(path, ".png"):
			w.Header().Set("Content-Type", "image/png")
			fmt.Fprint(w, strings.Repeat(path, 100))
		case strings.HasSuffix(path, ".js"):
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, `load("/shared/more.js")`)
		case strings.HasPrefix(path, "/guide/p"):
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<img src="c.png">`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	for _, c := range []struct {
		rule           string
		args           string
		code           int
		says, get      string
		reason, detail string // of most files that pages lack
	}{
		{"requisites", "--page-requisites none", cli.ExitDone, "pages lack 5 files that --page-requisites none leaves out", "update --page-requisites host", "scope", "scope:requisites"},
		{"exclude", "--exclude png", cli.ExitDone, "pages lack 4 files that --exclude leaves out", "update --exclude ''", "scope", "scope:exclude"},
		{"reject", "--reject .png", cli.ExitDone, "pages lack 4 files that --reject leaves out", "update --reject ''", "scope", "scope:reject"},
		{"accept", "--accept text/html", cli.ExitDone, "pages lack 5 files that --accept leaves out", "update --accept ''", "scope", "scope:accept"},
		{"max-body", "--max-body 512B", cli.ExitIncomplete, "pages lack 4 files over --max-body", "update --max-body 1GiB", "too large", "too large"},
		{"max-urls", "--max-urls 3", cli.ExitIncomplete, "pages lack 3 files over --max-urls", "update --max-urls 0", "budget", "max-urls"},
		{"max-urls-per-host", "--max-urls-per-host 3", cli.ExitIncomplete, "pages lack 3 files over --max-urls-per-host", "update --max-urls-per-host 0", "budget", "max-urls-per-host"},
		{"max-pages", "--max-pages 1 --per-host 1", cli.ExitIncomplete, "pages lack 4 files over --max-pages", "resume --max-pages 0", "budget", "max-pages"},
		{"max-per-host", "--max-per-host 1 --per-host 1", cli.ExitIncomplete, "pages lack 4 files over --max-per-host", "resume --max-per-host 0", "budget", "max-per-host"},
		{"scripts", "", cli.ExitDone, "scripts name 1 file of the seeds' hosts that --scope prefix leaves out", "update --scope host", "", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			run := func(args ...string) result {
				cmd := curtsy(t, args...)
				cmd.Dir = folder
				return ended(t, cmd)
			}
			r := run(append(append([]string{"mirror", "--delay", "0", "--dir", "copy"}, strings.Fields(c.args)...), site.URL+"/guide/")...)
			get := "curtsy " + c.get + " copy"
			r.want(t, c.code, c.says+"; get them with "+get+"\n")
			if at := strings.Index(r.err, c.says); at > strings.Index(r.err, "Ended after") {
				t.Errorf("the summary does not begin with what is missing:\n%s", r.err)
			}
			if capped := c.detail == "max-urls" || c.detail == "max-urls-per-host"; capped != strings.Contains(r.err, "everything is done but links over --"+c.detail) {
				t.Errorf("how it ended:\n%s", r.err)
			}
			reasons := map[[2]string]int{}
			for m, err := range mirror.MissingLines(mirror.Tree(filepath.Join(folder, "copy"))) {
				if err != nil {
					t.Fatal(err)
				}
				if m.Embeds > 0 {
					reasons[[2]string{string(m.Reason), m.Detail}]++
				}
			}
			if c.reason != "" && (len(reasons) != 1 || reasons[[2]string{c.reason, c.detail}] == 0) {
				t.Errorf("reasons %v", reasons)
			}
			args := strings.Fields(strings.ReplaceAll(get, "''", "EMPTY"))[1:]
			if at := slices.Index(args, "EMPTY"); at >= 0 {
				args[at] = ""
			}
			r = run(args...)
			r.want(t, cli.ExitDone)
			if words := strings.Fields(c.says); strings.Contains(r.err, words[0]+" "+words[1]) {
				t.Errorf("after %s:\n%s", get, r.err)
			}
		})
	}
}
