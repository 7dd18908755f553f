package changes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/changes"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/foreigntest"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

// site is a site whose responses can be replaced between generations.
type site struct {
	mu    sync.Mutex
	pages map[string]func(w http.ResponseWriter)
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pages[r.URL.Path]; p != nil {
		p(w)
		return
	}
	http.NotFound(w, r)
}

func (s *site) set(path string, answer func(http.ResponseWriter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = answer
}

func typed(media, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", media)
		fmt.Fprint(w, body)
	}
}

func page(body string) func(http.ResponseWriter) { return typed("text/html; charset=utf-8", body) }

func to(place string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Location", place)
		w.WriteHeader(http.StatusMovedPermanently)
	}
}

// crawl crawls a site, and returns a function that updates the crawl.
func crawl(t *testing.T, s *site, options ...func(*crawldir.Settings)) (dir, base string, again func()) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	dir = filepath.Join(t.TempDir(), "news")
	set := crawldir.Defaults()
	set.Delay = 0
	for _, o := range options {
		o(&set)
	}
	seeds, err := crawldir.SeedURLs(server.URL + "/")
	if err == nil {
		err = crawldir.Create(t.Context(), dir, &set, seeds)
	}
	require.NoError(t, err)
	run := func() {
		t.Helper()
		_, err := crawldir.Run(t.Context(), dir, crawldir.Options{})
		require.NoError(t, err)
	}
	run()
	return dir, server.URL, func() {
		t.Helper()
		_, err := crawldir.Update(t.Context(), dir, &set, &set)
		require.NoError(t, err)
		run()
	}
}

func compare(t *testing.T, dir string, o changes.Options) *changes.Result {
	t.Helper()
	o.Temp = t.TempDir()
	r, err := changes.Compare(t.Context(), dir, o)
	require.NoError(t, err)
	return r
}

func of(t *testing.T, r *changes.Result, url string) changes.Change {
	t.Helper()
	for _, c := range r.Changes {
		if c.URL == url {
			return c
		}
	}
	t.Errorf("%s is missing", url)
	return changes.Change{}
}

func lines(d *changes.Diff) (all []string) {
	if d != nil {
		for _, l := range d.Lines {
			all = append(all, string(l.Mark)+l.Text)
		}
	}
	return all
}

const story = "<p>The bakery opens at six in the morning, and has bread of rye, of wheat and of spelt, all of it from the mill next door.</p>" +
	"<p>There is a stove in the corner, where people from the village sit and talk until the last loaf is sold, which may be late.</p>" +
	"<p>Nobody knows how old the oven is: the grandmother of the baker said that it was always there, and always warm, in winter too.</p>"

// article is a page with a menu and a main text.
func article(menu, main string) string {
	return "<!DOCTYPE html><html><head><title>Bakery</title></head><body><nav><ul><li><a href=/>" + menu + "</a></li></ul></nav><article><h1>Bread</h1>" + main + "</article></body></html>"
}

func TestCompare_EachURLHasItsChange(t *testing.T) {
	links := func(names string) func(http.ResponseWriter) {
		b := "<h1>All</h1>"
		for _, n := range strings.Fields(names) {
			b += "<a href=/" + n + ">x</a> "
		}
		return page(b + "<img src=/pic.png>")
	}
	s := &site{pages: map[string]func(http.ResponseWriter){
		"/":        links("same text markup around gone old lost moved away fails plain pic swap empty"),
		"/same":    page("<p>same"),
		"/text":    page(article("News", story)),
		"/markup":  page("<p>one <b>word</b>"),
		"/around":  page(article("Monday", story)),
		"/gone":    page("<p>what was here"),
		"/old":     page("<p>nothing leads here later"),
		"/lost":    page("<p>server falls over"),
		"/moved":   page("<p>a page that moves, whole"),
		"/away":    page("<p>redirects later"),
		"/plain":   typed("text/plain", "a\nb\nc "+strings.Repeat("It is so. ", 100)+"It is one. Yes.\n"+strings.Repeat("so ", 300)+"one yes\n"),
		"/pic.png": typed("image/png", "\x89PNG one"),
		"/swap":    page("<p>a page"),
		"/empty":   page("<img src=/pic.png alt=''>"),
	}}
	dir, base, again := crawl(t, s)
	s.set("/", links("same text markup around gone lost new moved-here away plain swap empty"))
	s.set("/text", page(article("News", strings.Replace(story, "at six", "at seven", 1))))
	s.set("/markup", page("<div class=new><p>one <i>word</i></div>"))
	s.set("/around", page(article("Tuesday", story)))
	s.set("/gone", nil)
	s.set("/lost", func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) })
	s.set("/moved", nil)
	s.set("/moved-here", page("<p>a page that moves, whole"))
	s.set("/new", page("<title>A new one</title><p>first\n<p>second"))
	s.set("/away", to("/same"))
	s.set("/plain", typed("text/plain", "a\nB\nc "+strings.Repeat("It is so. ", 100)+"It is two. Yes.\n"+strings.Repeat("so ", 300)+"two yes\n"))
	s.set("/pic.png", typed("image/png", "\x89PNG two"))
	s.set("/swap", typed("application/zip", "PK\x03\x04"))
	again()
	r := compare(t, dir, changes.Options{})
	assert.Truef(t, r.From.Number == 1 && r.To.Number == 2 && r.Complete && r.LeftOut+r.NoDiffs+r.BadLines == 0, "%+v", r)
	for path, want := range map[string]changes.Change{
		"/":           {Change: changes.Changed, Kind: changes.Text, Page: true}, // one link less
		"/text":       {Change: changes.Changed, Kind: changes.Text, Page: true},
		"/markup":     {Change: changes.Changed, Kind: changes.Markup, Page: true},
		"/around":     {Change: changes.Changed, Kind: changes.Around, Page: true},
		"/gone":       {Change: changes.Gone, Page: true},
		"/old":        {Change: changes.Unlinked, Page: true},
		"/lost":       {Change: changes.Unknown, Page: true, Why: "status 403"},
		"/moved":      {Change: changes.Unlinked, Page: true, MovedTo: base + "/moved-here"},
		"/moved-here": {Change: changes.New, Page: true, MovedFrom: base + "/moved"},
		"/away":       {Change: changes.Changed, Kind: changes.Redirect},
		"/new":        {Change: changes.New, Page: true},
		"/plain":      {Change: changes.Changed, Kind: changes.Text, Page: true},
		"/pic.png":    {Change: changes.Changed, Kind: changes.File},
		"/swap":       {Change: changes.Changed, Kind: changes.Unread, Page: true, Missing: changes.Differs},
	} {
		got := of(t, r, base+path)
		if got.Change != want.Change || got.Kind != want.Kind || got.Page != want.Page || got.Why != want.Why ||
			got.MovedTo != want.MovedTo || got.MovedFrom != want.MovedFrom || got.Missing != want.Missing {
			t.Errorf("%s: %+v", path, got)
		}
	}
	a := of(t, r, base+"/away")
	assert.Truef(t, a.After != nil && a.After.Location == "/same" && a.Before.Status == 200, "away: %+v", a.After)
	assert.Equal(t, "@line 1| a|-b|+B| c It is so.|@line 3| It is so.|-It is one.|+It is two.| Yes.|@line 4| so|-one|+two| yes", strings.Join(lines(of(t, r, base+"/plain").Diff), "|"), "plain")
	d := of(t, r, base+"/text").Diff
	assert.Truef(t, d != nil && d.Of == "main" && d.Added == 1 && d.Removed == 1, "text: %+v", lines(d))
	assert.Contains(t, strings.Join(lines(d), "\n"), "+The bakery opens at seven in")
	if d := of(t, r, base+"/around").Diff; d == nil || d.Of != "whole" || !strings.Contains(strings.Join(lines(d), "\n"), "-Monday\n+Tuesday") {
		t.Errorf("around: %q", lines(d))
	}
	n := of(t, r, base+"/new")
	assert.Truef(t, n.Title == "A new one" && n.Diff != nil && n.Diff.Added != 0, "new: %+v", n)
	assert.Equal(t, "-what was here", strings.Join(lines(of(t, r, base+"/gone").Diff), "|"), "gone")
	c := r.Counts
	assert.Truef(t, c[changes.Unchanged].Pages == 2 && c[changes.Changed].All() == 8 && c[changes.New].Pages == 2 && r.Moved == 1, "%+v, %d moved", c, r.Moved)
	var back map[string]any
	b, err := json.Marshal(r)
	assert.Truef(t, err == nil && json.Unmarshal(b, &back) == nil && strings.Contains(string(b), `"+B"`), "%s, %v", b, err)
}

// If the main text is a small part of a page, the whole text determines the kind of a change, and so the exit code.
func TestChanged_SmallMainTextWholeTextDecides(t *testing.T) {
	aside := "<aside class=sidebar><p>The mill grinds rye on Mondays and wheat on Thursdays, and its wheel is older than the road that leads to it.</p></aside>"
	long := strings.Replace(aside, "<p>", "<p>The mill is red. "+strings.Repeat("Its yard is on the road to the river and is open on all days. ", 2), 1)
	s := &site{pages: map[string]func(http.ResponseWriter){
		"/":     page("<a href=/most>a</a><a href=/few>b</a><a href=/some>c</a>"),
		"/most": page(article("News", story+story+story+aside)),
		"/few":  page(article("News", story+story+strings.Repeat(aside, 8))),
		"/some": page(article("News", story+story+story+long+"<aside class=sidebar>Printed on Monday</aside>")),
	}}
	dir, base, again := crawl(t, s)
	edited := strings.Replace(aside, "rye", "spelt", 1)
	s.set("/most", page(article("News", story+story+story+edited)))
	again()
	if r := compare(t, dir, changes.Options{}); of(t, r, base+"/most").Kind != changes.Around || r.Says() {
		t.Errorf("most of the text is main: %+v, %v", of(t, r, base+"/most"), r.Kinds)
	}
	s.set("/few", page(article("News", story+story+strings.Repeat(aside, 7)+edited)))
	again()
	r := compare(t, dir, changes.Options{})
	got := of(t, r, base+"/few")
	if got.Kind != changes.Text || got.Diff == nil || got.Diff.Of != "whole" || !strings.Contains(strings.Join(lines(got.Diff), "\n"), "spelt") || !r.Says() {
		t.Errorf("few of the text is main: %+v, %q", got, lines(got.Diff))
	}
	for _, c := range []struct{ rest, kind string }{
		{long + "<aside class=sidebar>Printed on Tuesday</aside>", changes.Around},
		{strings.Replace(long, "is red", "is blue", 1) + "<aside class=sidebar>Printed on Tuesday</aside>", changes.Text},
	} {
		s.set("/some", page(article("News", story+story+story+c.rest)))
		again()
		if r := compare(t, dir, changes.Options{}); of(t, r, base+"/some").Kind != c.kind {
			t.Errorf("some of the text is not main: %+v, want %s", of(t, r, base+"/some"), c.kind)
		}
	}
}

// Edits of main texts of real pages are changes of the text, edits of footers are not, except for pages with an uncertain main
// text. It tries a third of the pages, or all with CURTSY_LONG.
func TestChanged_GoldStandard(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "storage", "text", "testdata", "gold.json"))
	var trees []struct {
		Package, Folder  string
		Sentence, Around string // tags at the beginning of a sentence and of the last part that is not the main text
		Pages            []string
	}
	require.NoError(t, errors.Join(err, json.Unmarshal(b, &trees)))
	type edited struct{ path, main, both string }
	var all []edited
	s, links := &site{pages: map[string]func(http.ResponseWriter){}}, ""
	for _, g := range trees {
		root := foreigntest.Corpus(t, g.Folder, g.Package)
		for i, name := range g.Pages {
			if i%3 > 0 && os.Getenv("CURTSY_LONG") == "" {
				continue
			}
			b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)+".html"))
			require.NoError(t, err)
			text := string(b)
			around := strings.LastIndex(text, g.Around)
			before := strings.SplitAfter(text[:max(around, 0)], g.Sentence)
			require.GreaterOrEqualf(t, len(before), 2, "%s: no sentence, or nothing around it", name)
			middle := len(before) / 2
			e := edited{path: "/" + g.Folder + "/" + name + ".html"}
			main := strings.Join(before[:middle], "") + "This sentence was not here. " + strings.Join(before[middle:], "")
			e.main = main + text[around:]
			e.both = main + strings.Replace(text[around:], g.Around, g.Around+"Edited ", 1)
			all, links = append(all, e), links+"<a href="+e.path+">x</a>"
			s.set(e.path, page(text))
		}
	}
	s.set("/", page(links))
	dir, base, again := crawl(t, s, func(set *crawldir.Settings) { set.Depth = 1 })
	counts := func() map[string]int {
		again()
		r, n := compare(t, dir, changes.Options{}), map[string]int{}
		for _, e := range all {
			n[of(t, r, base+e.path).Kind]++
		}
		return n
	}
	for _, e := range all {
		s.set(e.path, page(e.main))
	}
	main := counts()
	for _, e := range all {
		s.set(e.path, page(e.both))
	}
	around := counts()
	t.Logf("%d pages: a sentence of the main text %v, of the text around it %v", len(all), main, around)
	least := len(all) * 17 / 18
	assert.True(t, len(all) >= 60 && main[changes.Text] >= least && around[changes.Around] >= least, "it was better")
}

func TestBodiesOfRevisitsAreFoundAcrossGenerations(t *testing.T) {
	tagged := func(tag, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("ETag", tag)
			page(body)(w)
		}
	}
	s := &site{pages: map[string]func(http.ResponseWriter){
		"/": page("<a href=/a>a</a> <a href=/b>b</a>"), "/a": tagged(`"1"`, "<p>one"), "/b": page("<p>first"),
	}}
	dir, base, again := crawl(t, s)
	_, err := changes.Compare(t.Context(), dir, changes.Options{Temp: t.TempDir()})
	assert.ErrorIs(t, err, changes.ErrOne, "of one generation")
	again() // unchanged
	s.set("/b", page("<p>second"))
	again()
	s.set("/a", tagged(`"2"`, "<p>two"))
	s.set("/b", page("<p>first")) // as it was
	again()
	r := compare(t, dir, changes.Options{})
	got := lines(of(t, r, base+"/a").Diff)
	assert.Truef(t, strings.Join(got, "|") == "@line 1|-one|+two" && r.From.Number == 3, "generation %d: %q", r.From.Number, got)
	assert.Equal(t, "@line 1|-second|+first", strings.Join(lines(of(t, r, base+"/b").Diff), "|"))
	r = compare(t, dir, changes.Options{From: 1, To: 2})
	assert.Truef(t, len(r.Changes) == 0 && r.Counts[changes.Unchanged].Pages == 3, "1 and 2: %+v", r)
	r = compare(t, dir, changes.Options{From: 1, To: 4})
	assert.Truef(t, len(r.Changes) == 1 && r.Changes[0].URL == base+"/a", "1 and 4: %+v", r.Changes)
	for _, o := range []changes.Options{{From: 2, To: 2}, {From: 3, To: 1}, {To: 5}, {From: -1}, {To: 1}} {
		_, err := changes.Compare(t.Context(), dir, o)
		assert.ErrorIsf(t, err, changes.ErrGeneration, "%+v: %v", o, err)
	}
}

func TestBodiesThatAreMissingHaveAReason(t *testing.T) {
	s := &site{pages: map[string]func(http.ResponseWriter){
		"/": page("<a href=/a>a</a>"), "/a": page("<p>one"),
	}}
	dir, base, again := crawl(t, s)
	s.set("/a", page("<p>two"))
	again()
	files, err := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*.warc.gz"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 2, files)
	require.NoError(t, os.Remove(files[0]))
	r := compare(t, dir, changes.Options{From: 1, To: 2})
	got := of(t, r, base+"/a")
	assert.Truef(t, got.Change == changes.Changed && got.Kind == changes.Unread && got.Missing == changes.NoRecord && r.Missing[changes.NoRecord] == 1, "%+v, %v", got, r.Missing)
}
