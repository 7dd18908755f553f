package layout

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"curtsy/frontier/canon"
)

var everyLayout = []Layout{{}, {Kind: Flat}, {Kind: Flat, Cut: 1}, {Kind: Flat, Cut: 2}, {Kind: Flat, Cut: MaxCut}}

func urlOf(t testing.TB, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	require.NoError(t, err)
	return u
}

type Page struct {
	URL    canon.URL
	Type   string // value of its Content-Type field
	Digest string // of its payload, in any form that is equal for equal payloads; empty if it is not known
}

// Names returns the file names of pages. Pages with one key, or with one name and the same response, share a file.
func Names(pages []Page, l Layout) []string {
	order := make([]int, len(pages))
	for i := range order {
		order[i] = i
	}
	keyed := func(i int) string { return pages[i].URL.Key() }
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(keyed(a), keyed(b)) })
	first := slices.CompactFunc(slices.Clone(order), func(a, b int) bool { return keyed(a) == keyed(b) })
	found, _ := l.Names(pageSet{pages, first})
	names := make([]string, len(pages))
	for i, j := 0, 0; i < len(order); i++ {
		if keyed(order[i]) != keyed(first[j]) {
			j++
		}
		names[order[i]] = found[j]
	}
	return names
}

type pageSet struct {
	pages []Page
	order []int
}

func (s pageSet) Len() int                 { return len(s.order) }
func (s pageSet) Key(i int) string         { return s.pages[s.order[i]].URL.Key() }
func (s pageSet) ContentType(i int) string { return s.pages[s.order[i]].Type }
func (s pageSet) Same(i, j int) bool {
	a, b := s.pages[s.order[i]], s.pages[s.order[j]]
	return a.Digest != "" && a.Digest == b.Digest && a.Type == b.Type
}

func pagesOf(t testing.TB, lines ...string) (ps []Page) {
	t.Helper()
	for _, l := range lines {
		f := append(strings.Fields(l), "", "")
		if f[1] == "" {
			f[1] = "text/html"
		}
		ps = append(ps, Page{urlOf(t, f[0]), f[1], f[2]})
	}
	return ps
}

func TestNameOfOnePage(t *testing.T) {
	for _, c := range []struct{ rule, page, want string }{
		{"a directory's file is index", "http://a.test/", "a.test/index.html"},
		{"a directory's file is index", "http://a.test/d/e/", "a.test/d/e/index.html"},
		{"a directory's file has its type's extension", "http://a.test/d/ text/plain", "a.test/d/index.txt"},
		{"a port is written", "http://a.test:8080/x", "a.test+8080/x.html"},
		{"https is not", "https://a.test/x", "a.test/x.html"},
		{"an IPv6 address has no colons", "http://[2001:db8::1]:81/x", "[2001-db8--1]+81/x.html"},
		{"a fitting extension stays", "http://a.test/x.htm", "a.test/x.htm"},
		{"a fitting extension stays", "http://a.test/x.HTML", "a.test/x.HTML"},
		{"a fitting extension stays", "http://a.test/x.xhtml application/xhtml+xml", "a.test/x.xhtml"},
		{"XML need not be HTML, nor the other way round", "http://a.test/x.xhtml", "a.test/x.xhtml.html"},
		{"another gets one behind it", "http://a.test/x.php", "a.test/x.php.html"},
		{"another gets one behind it", "http://a.test/logo.php image/png", "a.test/logo.php.png"},
		{"another gets one behind it", "http://a.test/x.png image/jpeg", "a.test/x.png.jpg"},
		{"a dot is not an extension", "http://a.test/v1.2%20beta", "a.test/v1.2 beta.html"},
		{"an unknown type keeps the extension", "http://a.test/x.foo application/x-foo", "a.test/x.foo"},
		{"an unknown type keeps the extension", "http://a.test/x application/x-foo", "a.test/x"},
		{"no other type passes for a page", "http://a.test/x.html application/octet-stream", "a.test/x.html.bin"},
		{"nor XML of a type that is not known", "http://a.test/x.HTM application/x+xml", "a.test/x.HTM.bin"},
		{"no other type passes for a page", "http://a.test/x.html text/plain", "a.test/x.html.txt"},
		{"no other type passes for a page", "http://a.test/x?f=y.html application/octet-stream", "a.test/x@f=y.html.bin"},
		{"text keeps its extension", "http://a.test/x.c text/plain", "a.test/x.c"},
		{"parameters of a type do not count", "http://a.test/x TEXT/HTML;charset=x", "a.test/x.html"},
		{"a query is readable", "http://a.test/page?a=1", "a.test/page@a=1.html"},
		{"a query is readable", "http://a.test/page.html?a=1&b=c%20d", "a.test/page@a=1&b=c d.html"},
		{"a query is readable", "http://a.test/page.php?a=1", "a.test/page.php@a=1.html"},
		{"a query is readable", "http://a.test/?q=%C3%A9t%C3%A9", "a.test/index@q=été.html"},
		{"a query has no directories", "http://a.test/x?u=/../../y", "a.test/x@u=%2F..%2F..%2Fy.html"},
		{"a style sheet's version comes before its extension", "http://a.test/s.css?v=3 text/css", "a.test/s@v=3.css"},
		{"UTF-8 is readable", "http://a.test/%E4%BD%A0%E5%A5%BD", "a.test/你好.html"},
		{"UTF-8 is composed", "http://a.test/e%CC%81", "a.test/é.html"},
		{"invalid UTF-8 stays escaped", "http://a.test/%E9t%E9", "a.test/%E9t%E9.html"},
		{"an escape stays one", "http://a.test/100%25", "a.test/100%25.html"},
		{"a false escape stays", "http://a.test/100%zz", "a.test/100%zz.html"},
		{"a slash stays escaped", "http://a.test/a%2Fb", "a.test/a%2Fb.html"},
		{"a backslash stays escaped", "http://a.test/a%5Cb", "a.test/a%5Cb.html"},
		{"Windows' characters are escaped", "http://a.test/a:b*c|d%3Ce%3E%22%3F", "a.test/a%3Ab%2Ac%7Cd%3Ce%3E%22%3F.html"},
		{"a number sign is escaped", "http://a.test/a%23b", "a.test/a%23b.html"},
		{"controls stay escaped", "http://a.test/a%00b%0A%7F%C2%85", "a.test/a%00b%0A%7F%C2%85.html"},
		{"bidirectional controls stay escaped", "http://a.test/a%E2%80%AEb", "a.test/a%E2%80%AEb.html"},
		{"a private character stays escaped", "http://a.test/%EE%80%80", "a.test/%EE%80%80.html"},
		{"no dot at the end", "http://a.test/x. application/x-foo", "a.test/x%2E"},
		{"no dot at the end of a directory", "http://a.test/d./x", "a.test/d%2E/x.html"},
		{"no space at the end", "http://a.test/d%20/x", "a.test/d%20/x.html"},
		{"no space at the beginning", "http://a.test/%20d/x", "a.test/%20d/x.html"},
		{"no name of the directory above", "http://a.test/%2e%2e%2fx/y", "a.test/%2E.%2Fx/y.html"},
		{"an empty directory has a name", "http://a.test//x///y", "a.test/_/x/_/_/y.html"},
		{"no device", "http://a.test/con", "a.test/con_.html"},
		{"no device", "http://a.test/CON.css text/css", "a.test/CON_.css"},
		{"no device", "http://a.test/nul.tar.gz application/gzip", "a.test/nul_.tar.gz"},
		{"no device", "http://a.test/Aux/x", "a.test/Aux_/x.html"},
		{"no device", "http://a.test/com1", "a.test/com1_.html"},
		{"no device", "http://a.test/lpt%C2%B3.x application/x-foo", "a.test/lpt³_.x"},
		{"no device", "http://a.test/conin$", "a.test/conin$_.html"},
		{"no device, with a space", "http://a.test/con%20.x application/x-foo", "a.test/con _.x"},
		{"a device's name within another is harmless", "http://a.test/console", "a.test/console.html"},
		{"a device's name within another is harmless", "http://a.test/com10", "a.test/com10.html"},
		{"no device as a host", "http://nul.test/x", "nul_.test/x.html"},
		{"no drive", "http://a.test/c:/x", "a.test/c%3A/x.html"},
		{"the map's own name is taken", "http://missing.jsonl/x", "missing.jsonl_/x.html"},
		{"a host keeps its name in ASCII", "http://b\u00fccher.test/", "xn--bcher-kva.test/index.html"},
	} {
		assert.Equalf(t, c.want, Names(pagesOf(t, c.page), Layout{})[0], "%s: %s", c.rule, c.page)
	}
}

func TestNamesOfSeveralPages(t *testing.T) {
	for _, c := range []struct {
		rule  string
		pages []string
		want  []string // "~" replaces a hash
	}{
		{"case does not distinguish files", []string{"http://a.test/Page", "http://a.test/page"}, []string{"a.test/Page.html", "a.test/page~.html"}},
		{"nor that of a directory", []string{"http://a.test/D/x", "http://a.test/d/x"}, []string{"a.test/D/x.html", "a.test/d/x~.html"}},
		{"nor does full case folding", []string{"http://a.test/stra%C3%9Fe", "http://a.test/strasse"}, []string{"a.test/straße.html", "a.test/strasse~.html"}},
		{"nor normalisation", []string{"http://a.test/%C3%A9", "http://a.test/e%CC%81"}, []string{"a.test/é.html", "a.test/é~.html"}},
		{"nor an upper-case letter composed otherwise", []string{"http://a.test/%C3%89", "http://a.test/e%CC%81"}, []string{"a.test/É.html", "a.test/é~.html"}},
		{"a file and a directory of one name", []string{"http://a.test/a application/x-foo", "http://a.test/a/b"}, []string{"a.test/a~", "a.test/a/b.html"}},
		{"a page and a directory are apart by the extension", []string{"http://a.test/a", "http://a.test/a/b"}, []string{"a.test/a.html", "a.test/a/b.html"}},
		{"a directory with an extension", []string{"http://a.test/a", "http://a.test/A.html/b"}, []string{"a.test/a~.html", "a.test/A.html/b.html"}},
		{"a query and its lookalike", []string{"http://a.test/p?a=1", "http://a.test/p@a=1"}, []string{"a.test/p@a=1.html", "a.test/p@a=1~.html"}},
		{"with and without the slash: the same answer", []string{"http://a.test/d text/html 1", "http://a.test/d/ text/html 1"}, []string{"a.test/d/index.html", "a.test/d/index.html"}},
		{"with and without the slash: another", []string{"http://a.test/d text/html 1", "http://a.test/d/ text/html 2"}, []string{"a.test/d.html", "a.test/d/index.html"}},
		{"with and without the slash: undecided", []string{"http://a.test/d", "http://a.test/d/"}, []string{"a.test/d.html", "a.test/d/index.html"}},
		{"index.html: the same answer", []string{"http://a.test/ text/html 1", "http://a.test/index.html text/html 1"}, []string{"a.test/index.html", "a.test/index.html"}},
		{"index.html: another", []string{"http://a.test/ text/html 1", "http://a.test/index.html text/html 2"}, []string{"a.test/index.html", "a.test/index~.html"}},
		{"all three the same", []string{"http://a.test/d text/html 1", "http://a.test/d/ text/html 1", "http://a.test/d/index.html text/html 1"}, []string{"a.test/d/index.html", "a.test/d/index.html", "a.test/d/index.html"}},
		{"http and https: the same", []string{"http://a.test/ text/html 1", "https://a.test/ text/html 1"}, []string{"a.test/index.html", "a.test/index.html"}},
		{"http and https: one page differs", []string{"http://a.test/ text/html 1", "https://a.test/ text/html 2", "http://a.test/x"}, []string{"a.test+80/index.html", "a.test/index.html", "a.test+80/x.html"}},
		{"http and https: no page in common", []string{"http://a.test/x", "https://a.test/y"}, []string{"a.test/x.html", "a.test/y.html"}},
		{"hosts differ", []string{"http://a.test/x", "http://b.test/x"}, []string{"a.test/x.html", "b.test/x.html"}},
		{"one key is one page", []string{"http://a.test/%7Ex", "http://a.test/~x"}, []string{"a.test/~x.html", "a.test/~x.html"}},
	} {
		names := Names(pagesOf(t, c.pages...), Layout{})
		for i, got := range names {
			want := c.want[i]
			if strings.Contains(want, "~") && !strings.Contains(want, "~x") {
				want = strings.Replace(want, "~", "~"+hashOf(urlOf(t, strings.Fields(c.pages[i])[0]).Key())[:8], 1)
			}
			assert.Truef(t, got == want, "%s: %s is %q, want %q", c.rule, c.pages[i], got, want)
		}
	}
}

func TestNameIsFoundThoughItsHashesAreTaken(t *testing.T) {
	victim := urlOf(t, "http://a.test/page")
	lines := []string{"http://a.test/Page", victim.Key()}
	for n := 8; n <= 64; n++ {
		lines = append(lines, "http://a.test/page~"+hashOf(victim.Key())[:n])
	}
	mustBeApart(t, Names(pagesOf(t, lines...), Layout{}), len(lines))
}

func TestLongNamesAreCut(t *testing.T) {
	long := strings.Repeat("%E4%BD%A0", 200) // 600 bytes of UTF-8
	deep := strings.Repeat("/d", 500)
	wide := strings.Repeat("/"+strings.Repeat("w", 200), 20)
	lines := []string{
		"http://a.test/" + long, "http://a.test/" + long + "x", "http://a.test/x?" + long, "http://a.test/" + long + "/x", "http://a.test/" + long + ".png image/png",
		"http://a.test" + deep + "/x", "http://a.test" + deep + "/y", "http://a.test" + deep + "/d/x", "http://a.test" + wide + "/x", "http://a.test" + wide + "/" + long,
		"http://a.test/" + strings.Repeat("%3A", 200), "http://" + strings.Repeat("h.", 120) + "test/",
	}
	names := Names(pagesOf(t, lines...), Layout{})
	mustBeApart(t, names, len(lines))
	assert.Truef(t, strings.HasSuffix(names[4], ".png") && strings.HasPrefix(names[0], "a.test/你你你"), "readable text is lost: %q, %q", names[4], names[0])
	a, b := filepath.Dir(names[5]), filepath.Dir(names[6])
	assert.Truef(t, a == b, "one deep directory became two: %s, %s", a, b)
}

func mustBeApart(t testing.TB, names []string, want int) {
	t.Helper()
	caser := cases.Fold()
	files, dirs := map[string]bool{}, map[string]bool{}
	for _, n := range names {
		mustBePortable(t, n)
		files[norm.NFC.String(caser.String(norm.NFD.String(n)))] = true
		for d := filepath.Dir(n); d != "."; d = filepath.Dir(d) {
			dirs[norm.NFC.String(caser.String(norm.NFD.String(d)))] = true
		}
	}
	assert.Equalf(t, want, len(files), "%d pages have %d files: %q", want, len(files), names)
	for f := range files {
		assert.Falsef(t, dirs[f], "%q is a file and a directory", f)
	}
}

func mustBePortable(t testing.TB, name string) {
	t.Helper()
	if !fs.ValidPath(name) || !filepath.IsLocal(name) || !utf8.ValidString(name) || len(name) > maxPath || strings.Count(name, "/") > maxDepth+1 || slices.Contains(Reserved, name) {
		t.Fatalf("%q is not a path for a mirror (%d octets)", name, len(name))
	}
	for part := range strings.SplitSeq(name, "/") {
		stem, _, _ := strings.Cut(part, ".")
		if len(part) > maxComponent || part == "" || strings.ContainsAny(part, `<>:"\|?*`) || strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") || device(stem) {
			t.Fatalf("%q: %q is not a portable name (%d octets)", name, part, len(part))
		}
		for _, r := range part {
			require.Falsef(t, r < ' ' || r >= 0x7F && r < 0xA0, "%q has a control character", name)
		}
	}
}

func randomPages(t testing.TB, rng *rand.Rand, n int) []Page {
	parts := []string{"a", "A", "b", "con", "index.html", "a.html", "a%2e", "%C3%A9", "e%CC%81", "%2e%2e%2f", "x.", "_", "", "~", "a@b", "%25", "ß", "ss"}
	types := []string{"text/html", "text/css", "application/x-foo", "", "image/png"}
	hosts := []string{"http://a.test", "https://a.test", "http://a.test:8080", "http://b.test"}
	seen := map[string]bool{}
	var ps []Page
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
			ps = append(ps, Page{u, types[rng.IntN(len(types))], fmt.Sprint(len(ps))}) // all differ
		}
	}
	return ps
}

func TestNamesNeverCollideAndDoNotDependOnOrder(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 7))
		pages, l := randomPages(t, rng, 200), everyLayout[seed%uint64(len(everyLayout))]
		names := Names(pages, l)
		mustBeApart(t, names, len(pages))
		byKey := map[string]string{}
		for i, p := range pages {
			byKey[p.URL.Key()] = names[i]
		}
		rng.Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
		for i, name := range Names(pages, l) {
			want := byKey[pages[i].URL.Key()]
			require.Truef(t, name == want, "%s is %q, and in another order %q", pages[i].URL, name, want)
		}
	}
}

func FuzzNameStaysInside(f *testing.F) {
	for _, s := range []string{"http://a.test/../../etc/passwd", "http://a.test/%2e%2e/%2e%2e/x", "http://a.test/..%2f..%5c", "http://a.test//x", "http://a.test/c:/x", "http://a.test/%00",
		"http://a.test/" + strings.Repeat("%F0%9F%98%80", 100), "http://a.test/\\..\\x", "http://con/aux?nul", "http://a.test/~?.."} {
		f.Add(s, "text/html", "x")
	}
	f.Fuzz(func(t *testing.T, s, media, other string) {
		u, err := canon.Parse(s)
		if err != nil {
			return
		}
		v, err := u.Resolve(other)
		if err != nil {
			v = u
		}
		want := 2
		if u.Key() == v.Key() {
			want = 1
		}
		for _, l := range everyLayout {
			mustBeApart(t, Names([]Page{{u, media, "1"}, {v, "text/html", "2"}}, l), want)
		}
	})
}

func TestNames_UntypedIsNotAPage(t *testing.T) {
	for in, want := range map[string]string{".html": "x.html.bin", ".HTM": "x.HTM.bin", ".xhtml": "x.xhtml.bin", ".svg": "x.svg", ".css": "x.css", "": "x"} {
		stem, ext := extension("x", in, "")
		assert.Truef(t, stem+ext == want, "%q: %q, want %q", in, stem+ext, want)
	}
}

func TestNamesOfAFlatLayout(t *testing.T) {
	for _, c := range []struct {
		rule  string
		cut   int
		pages []string
		want  []string // "~" replaces a hash
	}{
		{"no folder of a host", 0, []string{"http://a.test/d/x", "http://a.test:81/y"}, []string{"d/x.html", "y.html"}},
		{"folders are cut off", 1, []string{"http://a.test/d/e/x"}, []string{"e/x.html"}},
		{"as many as there are", 3, []string{"http://a.test/d/e/x", "http://a.test/"}, []string{"x.html", "index.html"}},
		{"hosts are apart", 0, []string{"http://a.test/x text/html 1", "http://b.test/x text/html 2"}, []string{"x.html", "x~.html"}},
		{"and so are equal answers of theirs", 0, []string{"http://a.test/x text/html 1", "http://b.test/x text/html 1"}, []string{"x.html", "x~.html"}},
		{"and those of folders", 1, []string{"http://a.test/d/x text/html 1", "http://a.test/e/x text/html 1"}, []string{"x.html", "x~.html"}},
		{"schemes are one, if they answer the same", 0, []string{"http://a.test/x text/html 1", "https://a.test/x text/html 1"}, []string{"x.html", "x.html"}},
		{"and two, if not", 0, []string{"http://a.test/x text/html 1", "https://a.test/x text/html 2"}, []string{"x.html", "x~.html"}},
		{"with and without the slash", 0, []string{"http://a.test/d text/html 1", "http://a.test/d/ text/html 1"}, []string{"d/index.html", "d/index.html"}},
		{"the mirror's own names are taken", 0, []string{"http://a.test/missing.jsonl application/x-foo", "http://a.test/Mirror-Map.jsonl/x"}, []string{"missing~.jsonl", "Mirror-Map.jsonl_/x.html"}},
		{"and by characters folded to them", 0, []string{"http://a.test/mi%C5%BFsing.jsonl/x"}, []string{"miſsing.jsonl_/x.html"}},
		{"a file and a folder of one name", 0, []string{"http://a.test/a application/x-foo", "http://b.test/a/b"}, []string{"a~", "a/b.html"}},
		{"no device", 0, []string{"http://a.test/con/nul"}, []string{"con_/nul_.html"}},
	} {
		names := Names(pagesOf(t, c.pages...), Layout{Kind: Flat, Cut: c.cut})
		for i, got := range names {
			want := strings.Replace(c.want[i], "~", "~"+hashOf(urlOf(t, strings.Fields(c.pages[i])[0]).Key())[:8], 1)
			assert.Truef(t, got == want, "%s: %s is %q, want %q", c.rule, c.pages[i], got, want)
		}
	}
}

func TestLayout_RejectsInvalid(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		want   string
	}{
		{Layout{}, ""}, {Layout{Kind: Flat, Cut: MaxCut}, ""},
		{Layout{Cut: 1}, "give --layout flat as well"},
		{Layout{Kind: Flat, Cut: -1}, "from 0 to 48"}, {Layout{Kind: Flat, Cut: MaxCut + 1}, "from 0 to 48"},
	} {
		err := c.layout.Check()
		assert.Falsef(t, (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want), "%+v: %v, want %q", c.layout, err, c.want)
	}
	for _, word := range Words() {
		k, err := Parse(word)
		assert.Truef(t, err == nil && k.String() == word, "%s is %s, %v", word, k, err)
	}
	_, err := Parse("Flat")
	assert.Error(t, err, "an invalid word is read")
}
