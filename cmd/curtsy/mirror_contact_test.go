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
	"curtsy/cmd/curtsy/mirrorcmd"
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
			[]string{"pages lack 1 file of other hosts", "curtsy identity set --contact ADDRESS", "curtsy update --contact ADDRESS --page-requisites all,script "}, []string{"shared/p.png", "shared/s.css"}},
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
			home(t, "")
			site := guideSite(t, c.page)
			dir := filepath.Join(t.TempDir(), "d")
			args := append([]string{"mirror", "--json", "--delay", "0", "--dir", dir}, c.args...)
			r := atHome(t, append(args, site.URL+"/guide/")...)
			r.want(t, c.code, c.want...)
			if c.want == nil && strings.Contains(r.err, "pages lack") {
				t.Errorf("nothing is missing: %s", r.err)
			}
			var out struct {
				Mirror mirrorcmd.Built `json:"mirror"`
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

// The command that a summary names gets what the pages lacked.
func TestMirror_LackedFilesAreFetched(t *testing.T) {
	home(t, "")
	site := guideSite(t, "")
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "mirror", "--delay", "0", "--page-requisites", "none", "--dir", dir, site.URL+"/guide/").want(t, cli.ExitDone, "curtsy update --page-requisites host "+dir)
	r := atHome(t, "update", "--page-requisites", "host", dir)
	r.want(t, cli.ExitDone)
	if strings.Contains(r.err, "pages lack") {
		t.Error(r.err)
	}
}
