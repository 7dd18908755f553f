package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/mirror"
)

// filesOf reads a tree: the octets of each file, by its name.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// sameTree compares two mirrors, file by file.
func sameTree(t *testing.T, got, want string) {
	t.Helper()
	a, b := filesOf(t, got), filesOf(t, want)
	for name := range b {
		if x, ok := a[name]; !ok || x != b[name] {
			t.Errorf("%s: %s differs (%d octets, want %d)", got, name, len(x), len(b[name]))
		}
	}
	if len(a) != len(b) || len(b) == 0 {
		t.Errorf("%s has %d files, %s %d", got, len(a), want, len(b))
	}
}

// mirroredSite is a small web, of which something may not be in a mirror.
func mirroredSite() []*crawltest.Site {
	return []*crawltest.Site{{Name: "bakery.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /shop/private/\n"}, Pages: map[string]crawltest.Page{
		"/":                    {Links: []string{"/shop/", "/outside"}},
		"/shop/":               {Links: []string{"/shop/bread?kind=rye", "/shop/moved", "/shop/secret", "/shop/none", "/outside", "/shop/private/x"}, Embeds: []string{"/style.css"}},
		"/shop/bread?kind=rye": {Text: "bread", Links: []string{"/shop/"}},
		"/shop/moved":          {Redirect: "/shop/late"},
		"/shop/late":           {Text: "it comes late"},
		"/shop/secret":         {Text: "secret", Header: map[string]string{"X-Robots-Tag": "noarchive"}},
		"/style.css":           {Type: "text/css", Body: "p { background: url(/crumb.png) }", Embeds: []string{"/crumb.png"}},
		"/crumb.png":           {Type: "image/png", Body: "\x89PNG\r\n\x1a\n"},
		"/outside":             {},
		"/shop/never.txt":      {Body: "nothing leads here"},
	}}}
}

// mirrorSmall mirrors the small web below /shop/.
func mirrorSmall(t *testing.T, args ...string) (dir string, web *crawltest.Web, r result) {
	t.Helper()
	web = crawltest.New(mirroredSite()...)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	dir = filepath.Join(t.TempDir(), "d")
	args = append([]string{"mirror", "--contact", "crawl@library.org", "--delay", "0", "--dir", dir}, args...)
	return dir, web, inside(t, append(args, web.LoopbackURL("bakery.test")+"shop/")...)
}

// A mirror has what is below its URLs, and what its pages need from elsewhere; what it lacks is told with reasons.
func TestMirrorHasPagesAndWhatTheyNeed(t *testing.T) {
	t.Parallel()
	dir, web, r := mirrorSmall(t, "--json")
	r.want(t, cli.ExitDone, "making the mirror", "URLs left absolute", "noarchive", "scope", "open ", "curtsy mirror serve "+dir)
	var out struct {
		Mirror crawlcmd.Built `json:"mirror"`
	}
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		t.Fatalf("%v: %s", err, r.out)
	}
	if !strings.HasSuffix(out.Mirror.Start, "/shop/index.html") || out.Mirror.Missing[mirror.NoArchive] != 1 || out.Mirror.Missing[mirror.Scope] == 0 {
		t.Errorf("%+v", out.Mirror)
	}
	var names []string
	for name := range filesOf(t, mirror.Tree(dir)) {
		_, name, _ = strings.Cut(name, "/")
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{"", "", "crumb.png", "shop/bread@kind=rye.html", "shop/index.html", "shop/late.html", "style.css"}
	if !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	judged(t, web, crawltest.Rules{Seeds: []string{"http://bakery.test/shop/"}, Partial: true}) // what is above the URL is not to be had
	page := filesOf(t, mirror.Tree(dir))[out.Mirror.Start]
	for _, link := range []string{`"bread@kind=rye.html"`, `"late.html"`, `"../style.css"`, web.LoopbackURL("bakery.test") + "shop/secret"} {
		if !strings.Contains(page, link) {
			t.Errorf("the page lacks %s: %s", link, page)
		}
	}
}

// What a crawl keeps in its settings makes resume and update make the mirror, too; whatever else it is made of, it is the
// same: a directory, elsewhere, WARC files alone.
func TestRebuiltMirrorIsTheSame(t *testing.T) {
	t.Parallel()
	dir, _, r := mirrorSmall(t, "--quiet")
	r.want(t, cli.ExitDone)
	if r.err != "" {
		t.Errorf("--quiet says %s", r.err)
	}
	to := filepath.Join(t.TempDir(), "to")
	inside(t, "mirror", "rebuild", "-o", to, dir).want(t, cli.ExitDone)
	sameTree(t, mirror.Tree(to), mirror.Tree(dir))
	files, err := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "alone")
	inside(t, append([]string{"mirror", "rebuild", "-o", alone}, files...)...).want(t, cli.ExitDone)
	sameTree(t, mirror.Tree(alone), mirror.Tree(dir))

	if err := os.RemoveAll(mirror.Tree(dir)); err != nil {
		t.Fatal(err)
	}
	inside(t, "resume", dir).want(t, cli.ExitDone, "finished")
	sameTree(t, mirror.Tree(dir), mirror.Tree(to))
	inside(t, "mirror", "rebuild", dir).want(t, cli.ExitDone, "files written       0, 5 as before")
	inside(t, "mirror", "rebuild", "--overwrite", dir).want(t, cli.ExitDone, "files written       5, 0 as before")
	sameTree(t, mirror.Tree(dir), mirror.Tree(to))
}

// An update writes what changed. What is gone leaves the mirror if that is asked for, and not before the update is whole.
func TestUpdatedMirrorHasWhatChanged(t *testing.T) {
	t.Parallel()
	dir, web, r := mirrorSmall(t, "--quiet")
	r.want(t, cli.ExitDone)
	before := filesOf(t, mirror.Tree(dir))
	inside(t, "update", dir).want(t, cli.ExitDone, "files written       0, 5 as before", "0 new, 0 changed, 0 gone, 6 unchanged")
	web.Change("bakery.test", func(s *crawltest.Site) {
		s.Pages = maps.Clone(s.Pages)
		s.Pages["/shop/bread?kind=rye"] = crawltest.Page{Text: "better bread", Links: []string{"/shop/"}}
		s.Pages["/shop/late"] = crawltest.Page{Status: http.StatusGone}
	})
	inside(t, "update", dir).want(t, cli.ExitDone, "files written       1, 4 as before", "gone, kept          1", "1 changed")
	if after := filesOf(t, mirror.Tree(dir)); len(after) != len(before) {
		t.Errorf("%d files, want %d", len(after), len(before))
	}
	// Another layout is there without a fetch, and the directory remembers it.
	inside(t, "mirror", "rebuild", "--layout", "flat", "--cut-dirs", "1", dir).want(t, cli.ExitDone, "files written       5, 0 as before", "0 new, 0 changed, 0 gone, 6 unchanged")
	inside(t, "update", dir).want(t, cli.ExitDone, "files written       0, 5 as before")
	inside(t, "mirror", "check", "--wrong", dir).want(t, cli.ExitDone, "of these 0 should")
	inside(t, "mirror", "rebuild", "--layout", "host", dir).want(t, cli.ExitDone, "files written       5, 0 as before")
	// Ended by a budget, an update is not completed: nothing is removed for what it found.
	inside(t, "update", "--quiet", "--vanished", "keep", dir).want(t, cli.ExitDone)
	inside(t, "mirror", "rebuild", "--vanished", "remove", dir).want(t, cli.ExitDone, "0 new, 0 changed, 2 gone, 4 unchanged")
	inside(t, "mirror", "rebuild", dir).want(t, cli.ExitDone, "2 new, 0 changed, 0 gone, 4 unchanged")
	web.Change("bakery.test", func(s *crawltest.Site) {
		s.Pages = maps.Clone(s.Pages)
		s.Pages["/shop/bread?kind=rye"] = crawltest.Page{Status: http.StatusNotFound}
	})
	inside(t, "update", "--vanished", "remove", "--max-pages", "2", "--workers", "1", dir).want(t, cli.ExitDone, "gone (404, 410)    1", "not known before the update is finished")
	held := filesOf(t, mirror.Tree(dir))
	if !slices.ContainsFunc(slices.Collect(maps.Keys(held)), func(s string) bool { return strings.Contains(s, "bread@") }) {
		t.Error("a page has left the mirror before the update was completed")
	}
	inside(t, "resume", "--quiet", "--max-pages", "0", dir).want(t, cli.ExitDone)
	for name := range filesOf(t, mirror.Tree(dir)) {
		if strings.Contains(name, "bread@") || strings.Contains(name, "late") {
			t.Errorf("%s is still there", name)
		}
	}
	inside(t, "mirror", "check", dir).want(t, cli.ExitDone, "of these 0 should")
}

// A check tells what is missing with its reason, and ends with another code if something should be there.
func TestMirrorCheckFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	dir, _, r := mirrorSmall(t, "--quiet")
	r.want(t, cli.ExitDone)
	r = inside(t, "mirror", "check", "--json", dir)
	r.want(t, cli.ExitDone, "of these 0 should", "references name")
	for _, reason := range []string{"robots", "scope", "noarchive", "gone"} {
		if !strings.Contains(r.out, `"reason":"`+reason+`"`) {
			t.Errorf("nothing with the reason %s in %s", reason, r.out)
		}
	}
	for name := range filesOf(t, mirror.Tree(dir)) {
		if strings.HasSuffix(name, "style.css") {
			if err := os.Remove(filepath.Join(mirror.Tree(dir), filepath.FromSlash(name))); err != nil {
				t.Fatal(err)
			}
		}
	}
	r = inside(t, "mirror", "check", "--wrong", mirror.Tree(dir))
	r.want(t, cli.ExitFound)
	if !strings.Contains(r.out, "style.css\tWRONG no file") || bytes.Count([]byte(r.out), []byte("\n")) != 2 {
		t.Errorf("%s", r.out)
	}
	inside(t, "mirror", "check", t.TempDir()).want(t, cli.ExitUsage, "there is no mirror", "curtsy mirror rebuild")
}

func TestMirrorSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir, _, r := mirrorSmall(t, "--quiet")
	r.want(t, cli.ExitDone)
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"mirror"}, "seed"},
		{[]string{"mirror", "--vanished", "hide", "http://bakery.test/"}, "write keep or remove"},
		{[]string{"mirror", "--cut-dirs", "1", "http://bakery.test/"}, "give --layout flat as well"},
		{[]string{"mirror", "--layout", "round", "http://bakery.test/"}, "write host"},
		{[]string{"mirror", "rebuild", "--cut-dirs", "1", dir}, "give --layout flat as well"},
		{[]string{"mirror", "rebuild", "--layout", "flat", "--cut-dirs", "49", dir}, "from 0 to 48"},
		{[]string{"mirror", "rebuild", filepath.Join(dir, crawldir.ArchiveName, "curtsy-00000.warc.gz")}, "rebuild -o DIR"},
		{[]string{"mirror", "rebuild", dir, dir}, "one crawl directory"},
		{[]string{"mirror", "rebuild", t.TempDir()}, "holds no crawl"},
		{[]string{"mirror", "serve", t.TempDir()}, "there is no mirror"},
		{[]string{"mirror", "serve", "--listen", "nowhere", dir}, "--listen nowhere"},
	} {
		inside(t, tt.args...).want(t, cli.ExitUsage, tt.says)
	}
}

// What the crawl counts as left absolute in its summary, the check counts as well: URLs, however many references name one.
func TestMirrorCheckCountsAsTheSummaryDoes(t *testing.T) {
	t.Parallel()
	web := crawltest.New(&crawltest.Site{Name: "bakery.test", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /shut\n"}, Pages: map[string]crawltest.Page{
		"/":       {Links: []string{"/a.html", "/b.html", "/shut/1.html", "/shut/2.html"}},
		"/a.html": {Links: []string{"/shut/1.html", "/gone.html"}}, "/b.html": {Links: []string{"/shut/1.html"}},
	}})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	r := inside(t, "mirror", "--delay", "0", "--dir", dir, web.LoopbackURL("bakery.test"))
	inside(t, "mirror", "check", dir).want(t, cli.ExitDone, "5 references lead to no file", "name 3 URLs that")
	if !regexp.MustCompile(`URLs left absolute +3 \(`).MatchString(r.err) {
		t.Errorf("the summary counts otherwise:\n%s", r.err)
	}
}
