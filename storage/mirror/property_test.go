package mirror

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/storage/markup"
	"curtsy/storage/mirror/layout"
)

func TestEveryReferenceLeadsToItsPage(t *testing.T) {
	seeds := uint64(3) // one for each layout
	if os.Getenv("CURTSY_LONG") != "" {
		seeds = 12
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 3))
		pages := randomPages(t, rng, 60)
		var all []got
		kinds := map[string]string{}
		for i, p := range pages {
			u := p.URL.String()
			switch kinds[p.URL.Key()] = p.Type; {
			case i%7 == 3:
				kinds[p.URL.Key()] = "redirect"
				all = append(all, got{url: u, head: "301 Moved\r\nLocation: " + pages[i-1].URL.String()})
				continue
			case i%11 == 5:
				kinds[p.URL.Key()] = "none"
				all = append(all, got{url: u, head: "404 Not Found"})
				continue
			}
			body := "page " + p.URL.Key() + "\n"
			switch p.Type {
			case "text/html":
				body = "<!-- " + body + "-->"
				if i%3 == 0 {
					body += `<base href="` + pages[rng.IntN(len(pages))].URL.String() + `">`
				}
				for _, to := range pages {
					body += fmt.Sprintf("<a href='%s#f'></a><img src=\"%s\">", to.URL, to.URL)
				}
			case "text/css":
				body = "/* " + body + "*/"
				for _, to := range pages {
					body += fmt.Sprintf("a{background:url( %q )}", to.URL)
				}
			}
			all = append(all, got{url: u, head: "200 OK\r\nContent-Type: " + p.Type, body: body})
		}
		dir := t.TempDir()
		crawled(t, dir, all...)
		o := options(t, dir)
		o.Layout = []layout.Layout{{}, {Kind: layout.Flat}, {Kind: layout.Flat, Cut: 1}}[seed%3]
		built(t, o)
		tree := treeOf(t, Tree(dir))
		if wrong, _ := brokenOf(t, dir); len(wrong) > 0 {
			t.Fatalf("seed %d: wrong: %+v", seed, wrong[0])
		}
		checked := 0
		for _, e := range mapOf(t, dir) {
			if e.Redirect == "" && !strings.Contains(tree[e.File], "page "+e.URL+"\n") {
				t.Errorf("seed %d: %s has the file of another page", seed, e.URL)
			}
			if e.Redirect != "" || e.Document == "" {
				continue
			}
			i := 0
			_, err := rewriterOf(e.Type, "")([]byte(tree[e.File]), markup.Options{URL: urlOf(t, localBase+escaped(e.File, pathSafe)), ContentType: e.Type}, func(ref markup.Ref) (string, bool) {
				to := pages[i/2].URL
				if e.Type == "text/css" {
					to = pages[i].URL
				}
				i++
				mustLeadTo(t, tree, ref, to, pages, kinds)
				checked++
				return "", false
			})
			require.NoError(t, err)
		}
		assert.GreaterOrEqualf(t, checked, 1000, "seed %d: only %d references were checked", seed, checked)
	}
}

type samplePage struct {
	URL          canon.URL
	Type, Digest string
}

func randomPages(t testing.TB, rng *rand.Rand, n int) []samplePage {
	parts := []string{"a", "A", "b", "con", "index.html", "a.html", "a%2e", "%C3%A9", "e%CC%81", "%2e%2e%2f", "x.", "_", "", "~", "a@b", "%25", "ß", "ss"}
	types := []string{"text/html", "text/css", "application/x-foo", "", "image/png"}
	hosts := []string{"http://a.test", "https://a.test", "http://a.test:8080", "http://b.test"}
	seen := map[string]bool{}
	var ps []samplePage
	for len(ps) < n {
		s := hosts[rng.IntN(len(hosts))]
		for range 1 + rng.IntN(3) {
			s += "/" + parts[rng.IntN(len(parts))]
		}
		if rng.IntN(4) == 0 {
			s += "?" + parts[rng.IntN(len(parts))]
		}
		u := urlOf(t, s)
		if !seen[u.Key()] {
			seen[u.Key()] = true
			ps = append(ps, samplePage{URL: u, Type: types[rng.IntN(len(types))], Digest: fmt.Sprint(len(ps))}) // all differ
		}
	}
	return ps
}

func mustLeadTo(t *testing.T, tree map[string]string, ref markup.Ref, to canon.URL, pages []samplePage, kinds map[string]string) {
	t.Helper()
	for kinds[to.Key()] == "redirect" {
		for i, p := range pages {
			if p.URL == to {
				to = pages[i-1].URL
				break
			}
		}
	}
	u, err := ref.URL()
	require.NoError(t, err)
	file, local := strings.CutPrefix(u.String(), localBase)
	require.NotEqualf(t, (kinds[to.Key()] == "none"), local, "%s became %s", to, ref.Raw)
	if !local {
		return
	}
	file, err = url.PathUnescape(file)
	require.NoError(t, err)
	require.Containsf(t, tree[file], "page "+to.Key()+"\n", "%s became %s, which is another page", to, ref.Raw)
}

// For any URLs, redirects and pages, nothing outside the tree is written, and Check finds no error.
func FuzzBuildStaysInside(f *testing.F) {
	f.Add("http://a.test/%2e%2e/x", "../../..", `<a href="../../../etc/passwd"><base href="file:///">`, "text/html")
	f.Add("http://a.test/..%2f..", "//b.test/\\..", `@import "..\\..\\x"; a{background:url(/..%2f)}`, "text/css")
	f.Add("http://a.test/mirror-map.jsonl", "?x", `<svg><image href="x#y"/></svg>`, "image/svg+xml")
	f.Add("http://a.test/x.html", "?x", `<svgg><image href="x#y"/></svg>`, "text/html")
	f.Add("http://mirror-map.jsonl/", "#", `{"icons":[{"src":"x"}]}`, "application/manifest+json")
	f.Fuzz(func(t *testing.T, address, location, body, media string) {
		u, err := canon.Parse(address)
		if err != nil || strings.ContainsAny(location+media, "\r\n") || len(body) > 4096 {
			return
		}
		dir := t.TempDir()
		crawl := filepath.Join(dir, "crawl")
		all := []got{
			{url: u.String(), head: "200 OK\r\nContent-Type: " + media, body: body},
			{url: "http://a.test/moved", head: "302 Found\r\nLocation: " + location},
			{url: "http://a.test/", body: body + `<a href="/moved">m</a><a href='` + u.String() + `'>u</a>`},
		}
		if v, err := u.Resolve(location); err == nil && v.Key() != u.Key() && v.Key() != "http://a.test/" && v.Key() != "http://a.test/moved" {
			all = append(all, got{url: v.String(), head: "200 OK\r\nContent-Type: text/html", body: "other"})
		}
		require.NoError(t, os.Mkdir(crawl, 0o755))
		crawled(t, crawl, all...)
		if _, err := Build(t.Context(), options(t, crawl)); err != nil {
			t.Fatal(err)
		}
		for b, err := range Check(t.Context(), Tree(crawl)) {
			require.NoError(t, err)
			// Check also reports attributes that are not references in elements that fuzzing invents. These always are.
			if b.Wrong && slices.Contains([]string{"a href", "area href", "body background", "embed src", "img src", "img srcset", "link href"}, b.Element+" "+b.Attr) || b.Wrong && b.Attr == "style" {
				t.Errorf("wrong: %+v", b)
			}
		}
		for path, want := range map[string]string{dir: "crawl", crawl: "index mirror warc"} {
			entries, err := os.ReadDir(path)
			require.NoError(t, err)
			var names []string
			for _, e := range entries {
				names = append(names, e.Name())
			}
			assert.Equalf(t, want, strings.Join(names, " "), "the contents of %s", path)
		}
	})
}
