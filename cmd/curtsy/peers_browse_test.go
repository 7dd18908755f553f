//go:build peers

package main

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// browseScript is the script for each opened page.
//
//go:embed testdata/browse.js
var browseScript string

// browsed has the findings of a browser in a tree of files. Each list has what is broken, as "page: what", in page order.
type browsed struct {
	Pages, Requests int

	Failed  []string // failed requests, and those to other hosts that are not known to be absent
	OffHost []string // all requests to other hosts
	Refused []string // only by the browser's rules for file://: the file exists
	Fetched []string // failed requests of scripts, which no reader of pages can find
	Dead    []string // links and frames that lead to no file
	Left    []string // links that should lead to a page of the tree, and lead elsewhere
	Images  []string // that show nothing
	Wrong   []string // not as the page expects: another picture, page, text
	Styles  []string // not loaded, or without effect
	Scripts []string // that did not run
	Fonts   []string // not loaded
}

func (b browsed) String() string {
	return fmt.Sprintf("%d pages, %d requests: %d failed, %d dead links, %d left elsewhere, %d missing images, %d wrong, %d styles, %d scripts, %d fonts; %d off host, %d refused, %d asked for by scripts",
		b.Pages, b.Requests, len(b.Failed), len(b.Dead), len(b.Left), len(b.Images), len(b.Wrong), len(b.Styles), len(b.Scripts), len(b.Fonts), len(b.OffHost), len(b.Refused), len(b.Fetched))
}

// seen is the result of testdata/browse.js.
type seen struct {
	Page  string `json:"page"`
	Links []struct {
		To       string `json:"to"`
		Want     string `json:"want"`
		Embedded bool   `json:"embedded"`
	} `json:"links"`
	Images  []string `json:"images"`
	Wrong   []string `json:"wrong"`
	Styles  []string `json:"styles"`
	Scripts []string `json:"scripts"`
	Fonts   []string `json:"fonts"`
}

// shelf is a source of pages.
type shelf interface {
	pages() []string                          // the URLs of all pages
	holds(u *url.URL) (name string, how have) // the target of a URL without a fragment
	files() bool                              // over file://
}

type have int

const (
	outside have = iota // not of this shelf
	lacking             // of this shelf, and missing
	held
)

// traffic is the network traffic of an open page.
type traffic struct {
	mu     sync.Mutex
	sent   map[network.RequestID]*network.EventRequestWillBeSent
	open   map[network.RequestID]bool // pending requests of scripts
	quiet  chan struct{}              // signals that none is pending
	failed []failure
	n      int
}

type failure struct {
	url      string
	kind     network.ResourceType
	why      string
	canceled bool
	cors     bool
}

func (w *traffic) note(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		w.n++
		w.sent[ev.RequestID] = ev
		if ev.Type == network.ResourceTypeXHR || ev.Type == network.ResourceTypeFetch {
			w.open[ev.RequestID] = true
		}
	case *network.EventResponseReceived:
		w.answered(ev.RequestID)
		if ev.Response.Status >= 400 {
			w.failed = append(w.failed, failure{url: ev.Response.URL, kind: ev.Type, why: fmt.Sprint(ev.Response.Status)})
		}
	case *network.EventLoadingFailed:
		w.answered(ev.RequestID)
		f := failure{kind: ev.Type, why: ev.ErrorText + " " + string(ev.BlockedReason), canceled: ev.Canceled, cors: ev.CorsErrorStatus != nil}
		if sent := w.sent[ev.RequestID]; sent != nil {
			f.url = sent.Request.URL
		}
		w.failed = append(w.failed, f)
	}
}

// answered notes the end of a request. The caller holds mu.
func (w *traffic) answered(id network.RequestID) {
	delete(w.open, id)
	if len(w.open) == 0 {
		select {
		case w.quiet <- struct{}{}:
		default:
		}
	}
}

// settle waits for the requests of scripts: a page counts as loaded without them.
func (w *traffic) settle(ctx context.Context) {
	for {
		w.mu.Lock()
		n := len(w.open)
		w.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-w.quiet:
		case <-ctx.Done():
			return
		}
	}
}

func (w *traffic) take() (urls []string, failed []failure, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	set := map[string]bool{}
	for _, ev := range w.sent {
		set[ev.Request.URL] = true
	}
	urls, failed, n = slices.Sorted(maps.Keys(set)), w.failed, w.n
	w.sent, w.failed, w.n = map[network.RequestID]*network.EventRequestWillBeSent{}, nil, 0
	w.open = map[network.RequestID]bool{}
	return urls, failed, n
}

// browse opens all pages of a shelf. absent reports whether a URL outside of it cannot be there.
func browse(t *testing.T, s shelf, absent func(u string) bool) browsed {
	t.Helper()
	var b browsed
	tab := browser(t, time.Duration(len(s.pages()))*5*time.Second)
	w := &traffic{quiet: make(chan struct{}, 1)}
	w.take()
	require.NoError(t, chromedp.Listen(tab, w.note))
	require.NoError(t, chromedp.Do(tab, chromedp.Navigate("about:blank")))
	ids := map[string]string{} // of pages, by the names of files
	type wanted struct{ on, name, id string }
	var links []wanted
	for _, at := range s.pages() {
		w.take()
		page, err := pageSeen(tab, at)
		answers, cancel := context.WithTimeout(tab, 10*time.Second)
		w.settle(answers)
		cancel()
		u, _ := url.Parse(at)
		on, _ := s.holds(u)
		b.Pages++
		if err != nil {
			b.Failed = append(b.Failed, fmt.Sprintf("%s: %v", on, err))
			continue
		}
		ids[on] = page.Page
		urls, failed, n := w.take()
		b.Requests += n
		b.network(s, on, urls, failed, absent)
		b.addPage(on, page, absent)
		for _, l := range page.Links {
			name, how := lead(s, l.To)
			switch {
			case how == held && l.Want != "":
				links = append(links, wanted{on, name, l.Want})
			case how == lacking:
				b.Dead = append(b.Dead, on+": "+l.To)
			case how == outside && l.Want != "":
				b.Left = append(b.Left, on+": "+l.To)
			}
		}
	}
	known := map[wanted]bool{}
	for _, l := range links {
		one := wanted{name: l.name, id: l.id}                                 // report it once
		if got, opened := ids[l.name]; opened && got != l.id && !known[one] { // a sample does not open all
			known[one] = true
			b.Wrong = append(b.Wrong, fmt.Sprintf("%s: the link to %s leads to page %q, want %q", l.on, l.name, ids[l.name], l.id))
		}
	}
	return b
}

func pageSeen(tab context.Context, at string) (seen, error) {
	ctx, cancel := context.WithTimeout(tab, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(at)); err != nil {
		return seen{}, fmt.Errorf("open: %w", err)
	}
	page, err := chromedp.Run(ctx, chromedp.Evaluate[seen](browseScript, chromedp.EvalAwaitPromise))
	if err != nil {
		return seen{}, fmt.Errorf("ask: %w", err)
	}
	return page, nil
}

// lead returns the target of a link.
func lead(s shelf, to string) (name string, how have) {
	u, err := url.Parse(to)
	if err != nil {
		return "", outside
	}
	u.Fragment, u.RawFragment = "", ""
	return s.holds(u)
}

func (b *browsed) addPage(on string, page seen, absent func(string) bool) {
	for _, src := range page.Images {
		if !absent(src) {
			b.Images = append(b.Images, on+": "+src)
		}
	}
	add := func(to *[]string, list []string) {
		for _, what := range list {
			*to = append(*to, on+": "+what)
		}
	}
	add(&b.Wrong, page.Wrong)
	add(&b.Styles, page.Styles)
	add(&b.Scripts, page.Scripts)
	add(&b.Fonts, page.Fonts)
}

func (b *browsed) network(s shelf, on string, urls []string, failed []failure, absent func(string) bool) {
	bad := map[string]bool{}
	for _, at := range urls {
		if _, how := lead(s, at); how != outside || strings.HasPrefix(at, "data:") || strings.HasPrefix(at, "about:") || strings.HasPrefix(at, "blob:") {
			continue
		}
		b.OffHost = append(b.OffHost, on+": "+at)
		if !absent(at) {
			bad[at] = true
			b.Failed = append(b.Failed, on+": "+at+" (another host)")
		}
	}
	for _, f := range failed {
		_, how := lead(s, f.url)
		at, err := url.Parse(f.url)
		switch {
		case bad[f.url] || how == outside: // listed already, or known to be absent
		case f.kind == network.ResourceTypeOther && err == nil && at.Path == "/favicon.ico": // browsers request it unasked
		case how == held && f.canceled && !f.cors: // the browser has enough of a sound, or offers a download
		// Over file:// each file has its own origin, and these kinds need one origin.
		case how == held && s.files() && slices.Contains([]network.ResourceType{network.ResourceTypeTextTrack, network.ResourceTypeManifest, network.ResourceTypeOther}, f.kind):
			b.Refused = append(b.Refused, on+": "+f.url)
		case f.kind == network.ResourceTypeXHR || f.kind == network.ResourceTypeFetch:
			b.Fetched = append(b.Fetched, on+": "+f.url)
		default:
			bad[f.url] = true
			b.Failed = append(b.Failed, fmt.Sprintf("%s: %s (%s, %s)", on, f.url, f.kind, strings.TrimSpace(f.why)))
			if f.kind == network.ResourceTypeStylesheet {
				b.Styles = append(b.Styles, on+": "+f.url)
			}
		}
	}
}

func brokenTree(t *testing.T) string {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", "broken.txtar"))
	if err == nil {
		dir := t.TempDir()
		if err = txtar.Write(a, dir); err == nil {
			return dir
		}
	}
	t.Fatal(err)
	return ""
}

// take removes findings.
func (b *browsed) take(way string) (taken []string) {
	b.Wrong = slices.DeleteFunc(b.Wrong, func(s string) bool {
		if strings.Contains(s, way) {
			taken = append(taken, strings.Replace(s, "noext", "nowhere", 1))
			return true
		}
		return false
	})
	return taken
}

// The checker counts each kind of breakage, and only that.
func TestPeers_BrowserFindsBreakage(t *testing.T) {
	amongOthers(t)
	if testing.Short() {
		t.Skip("a browser")
	}
	dir := brokenTree(t)
	s := treeOf(t, dir)
	known := func(u string) bool { return u == "http://elsewhere.test/known.png" }
	for mode, shelf := range map[string]shelf{"file": s, "server": serveTree(t, s)} {
		b := browse(t, shelf, known)
		assert.Equalf(t, 8, b.Pages, "%s: %d pages", mode, b.Pages)
		if mode == "file" { // a page without an extension is text there
			b.Dead = append(b.Dead, b.take("it is shown as text/plain")...)
		}
		// pages/ is a folder over file://, and one without a page on the server.
		for _, tc := range []struct {
			what string
			got  []string
			want []string // a part of each line
		}{
			{"failed", b.Failed, []string{"lost.woff", "nothing.png", "off.png", "lost.html", "good.svg", "lost.js", "lost.css"}},
			{"requested by scripts", b.Fetched, []string{"unknown.json"}},
			{"off host", b.OffHost, []string{"off.png", "known.png"}},
			{"dead", b.Dead, []string{"nowhere", "nowhere.html", "/pages/", "lost.html", "outside.html", "gone.html"}},
			{"left", b.Left, []string{"origin.test/left.html"}},
			{"images", b.Images, []string{"text.svg", "nothing.png", "off.png", "good.svg"}},
			{"wrong", b.Wrong, []string{"want 8x5", "want 1x1", "café", `leads to page "home"`}},
			{"styles", b.Styles, []string{"lost.css", "the style lost"}},
			{"scripts", b.Scripts, []string{"lost", "JSON-LD"}},
			{"fonts", b.Fonts, []string{"lost", "want 50.0"}},
			{"refused", b.Refused, nil},
		} {
			for _, part := range tc.want {
				if !slices.ContainsFunc(tc.got, func(s string) bool { return strings.Contains(s, part) }) {
					t.Errorf("%s, %s: nothing about %s in %q", mode, tc.what, part, tc.got)
				}
			}
			assert.Equalf(t, len(tc.want), len(tc.got), "%s, %s: %d findings, want %d: %q", mode, tc.what, len(tc.got), len(tc.want), tc.got)
		}
	}
}

// browser starts headless Chromium and returns a chromedp context with a tab. It resolves only localhost, so that only the test's
// own pages load. The context lasts ten minutes and more.
func browser(t *testing.T, more ...time.Duration) context.Context {
	t.Helper()
	skipWithout(t, "chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"),
		chromedp.NoSandbox, // the tests may run as root
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1"),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.WSURLReadTimeout(patience),
	)
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	if _, err := chromedp.Run(ctx, chromedp.Title()); err != nil { // this context is the browser's, so it has no timeout
		t.Fatalf("start chromium: %v", err)
	}
	long := 10 * time.Minute
	for _, d := range more {
		long += d
	}
	ctx, cancel := context.WithTimeout(ctx, long)
	t.Cleanup(cancel)
	return ctx
}

// fileTree is a folder of files over file://.
type fileTree struct {
	dir   string
	names []string // of the pages, slashed, relative
}

// treeOf finds the HTML files of a folder.
func treeOf(t *testing.T, dir string) fileTree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	out := fileTree{dir: dir}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		if looksLikeHTML(p) {
			out.names = append(out.names, filepath.ToSlash(rel))
		}
		return nil
	})
	require.NoError(t, err)
	return out
}

// looksLikeHTML reports whether a browser shows a file as a page, by its extension or without one by its first bytes.
func looksLikeHTML(p string) bool {
	switch ext := strings.ToLower(filepath.Ext(p)); ext {
	case ".html", ".htm", ".xhtml", ".shtml":
		return true
	case "":
		f, err := os.Open(p)
		if err != nil {
			return false
		}
		defer f.Close()
		head := make([]byte, 512)
		n, _ := f.Read(head) // a short file is fine
		return strings.HasPrefix(http.DetectContentType(head[:n]), "text/html")
	}
	return false
}

func (s fileTree) files() bool { return true }

func (s fileTree) pages() []string {
	urls := make([]string, len(s.names))
	for i, name := range s.names {
		urls[i] = (&url.URL{Scheme: "file", Path: path.Join(filepath.ToSlash(s.dir), name)}).String()
	}
	return urls
}

func (s fileTree) holds(u *url.URL) (string, have) {
	if u.Scheme != "file" {
		return "", outside
	}
	rel, err := filepath.Rel(s.dir, filepath.FromSlash(u.Path))
	if err != nil || !filepath.IsLocal(rel) {
		return u.Path, lacking // outside of the tree
	}
	if info, err := os.Stat(filepath.Join(s.dir, rel)); err != nil || info.IsDir() {
		return rel, lacking
	}
	return filepath.ToSlash(rel), held
}

// served is a tree behind a file server.
type served struct {
	fileTree
	at *httptest.Server
}

// serveTree serves a tree like a file server: the type is that of the extension, without a charset.
func serveTree(t *testing.T, s fileTree) served {
	t.Helper()
	plain := http.FileServer(http.Dir(s.dir))
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kind, _, err := mime.ParseMediaType(mime.TypeByExtension(path.Ext(r.URL.Path))); err == nil {
			w.Header().Set("Content-Type", kind)
		}
		plain.ServeHTTP(w, r)
	}))
	t.Cleanup(at.Close)
	return served{s, at}
}

func (s served) files() bool { return false }

func (s served) pages() []string {
	urls := make([]string, len(s.names))
	for i, name := range s.names {
		urls[i] = s.at.URL + (&url.URL{Path: "/" + name}).EscapedPath()
	}
	return urls
}

func (s served) holds(u *url.URL) (string, have) {
	if u.Scheme+"://"+u.Host != s.at.URL {
		return "", outside
	}
	name := strings.TrimPrefix(path.Clean("/"+u.Path), "/")
	info, err := os.Stat(filepath.Join(s.dir, filepath.FromSlash(name)))
	if err == nil && info.IsDir() {
		name = path.Join(name, "index.html")
		info, err = os.Stat(filepath.Join(s.dir, filepath.FromSlash(name)))
	}
	if err != nil || info.IsDir() {
		return name, lacking
	}
	return name, held
}

// unportable lists names that other machines cannot have, or that are equal there.
func unportable(t *testing.T, dir string) []string {
	t.Helper()
	found := map[string]bool{}
	folded := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		name := d.Name()
		stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
		device := slices.Contains([]string{"CON", "PRN", "AUX", "NUL"}, stem) || len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")) && stem[3] >= '1' && stem[3] <= '9'
		control := strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f || r == 0xfffd })
		if device || control || strings.ContainsAny(name, `<>:"|?*\`) || strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") || len(name) > 240 {
			found[fmt.Sprintf("%q", rel)] = true
		}
		fold := cases.Fold().String(norm.NFC.String(rel))
		if other, ok := folded[fold]; ok {
			found[fmt.Sprintf("%q is %q", rel, other)] = true
		}
		folded[fold] = rel
		return err
	})
	require.NoError(t, err)
	return slices.Sorted(maps.Keys(found))
}

// The detector finds each kind of name, and no other.
func TestPeers_UnportableNamesAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{
		"fine.html", "CON", "aux.tar.gz", "com1.html", "a?b", "end.", "end ", "A/x", "a/y", "caf\u00e9", "cafe\u0301",
		strings.Repeat("x", 241), "compact.html", "line\nfeed", "fine%2f",
	} {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
	}
	assert.Len(t, unportable(t, dir), 10)
}
