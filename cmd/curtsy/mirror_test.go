package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"curtsy/crawler/crawltest"
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
