package crawler

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/scope"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/storage"
)

// long means the sizes and limits of the rule; otherwise they are a tenth.
var long = os.Getenv("CURTSY_LONG") != ""

// rounds returns how many of n random cases a test plays: all with CURTSY_LONG, otherwise a third.
func rounds(n int) int {
	if long {
		return n
	}
	return n / 3
}

func scaled(n int) int {
	if long {
		return n
	}
	return n / 10
}

// Sites that only look like traps are crawled whole.
func TestRule22_OtherSitesAreCrawledWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("it crawls much, for long under the race detector")
	}
	for _, site := range []*crawltest.Site{
		forumSite("forum.test", scaled(5000)),
		tilesSite("tiles.test", scaled(20_000)),
		olderPosts("diary.test", 300),
		shopSite("shop.test", scaled(3000)),
	} {
		bubble(t, site.Name, func(t *testing.T) {
			w := newWorld(t, []string{"http://" + site.Name + "/"}, site)
			w.cfg.Traps = trap.Limits{Queries: scaled(1000), Template: scaled(10_000)}
			s := w.run()
			w.judged(crawltest.Rules{Pace: Floor})
			if s.Status.Fetched != int64(len(site.Pages)) || s.Status.Held != 0 || s.Status.Links[trap.RuleCopy] != 0 || s.EndedBy != EndedDrained || s.Incomplete {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A held URL has a line that names the rule, and can be released once.
func TestRule22_HeldURLsAreLoggedAndReleasedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://calendar.test/"}, crawltest.Calendar("calendar.test", false, 999))
		w.cfg.Traps = trap.Limits{Queries: 50}
		s := w.run()
		var held []string
		for _, l := range w.ledger.all {
			if l.Decision == storage.DecisionHold {
				if held = append(held, l.URL); l.Outcome != "held" || l.Reason != trap.RuleQueries || l.Attempt != 0 || l.Status != 0 {
					t.Errorf("%+v", l)
				}
			}
		}
		if int64(len(held)) != s.Status.Held || len(held) != 2 || len(w.messages) != 1 || !strings.Contains(w.messages[0], "calendar.test/calendar?…") {
			t.Errorf("%d held, with lines %q, and logged %q", s.Status.Held, held, w.messages)
		}
		require.EqualValues(t, 2, w.retry(frontier.Retrial{Outcome: frontier.Held, Reason: trap.RuleQueries}).URLs)
		before := len(w.asked("calendar.test"))
		again := w.run()
		if n := len(w.asked("calendar.test")) - before; n != 2 || again.Status.Held != 2 {
			t.Errorf("%d requests, %d held: released URLs are fetched, the URLs that they link to are held", n, again.Status.Held)
		}
		for _, url := range held {
			w.wantOutcomes(url, "held: "+trap.RuleQueries, "fetched: unavailable")
		}
	})
}

// A gallery with the same text on each page and another picture is crawled whole. Another style sheet does not make a page
// different. The rule of copies may be off, or begin with the second copy in a row.
func TestRule22_GalleryIsNotAChainOfCopies(t *testing.T) {
	const (
		text   = "Photographs of the town by the members of our club, in no order at all."
		styles = "<link rel=stylesheet href=/css/%d.css><script src=/js/%d.js></script>"
	)
	for _, tt := range []struct {
		name   string
		embed  string // of page %d
		copy   int
		pages  int64
		copies int64
	}{
		{"pictures", "<img src=/img/%d.jpg>", 0, 30, 0},
		{"style sheets and scripts", styles, 0, 2, 3},
		{"the first copy is followed", styles, 2, 3, 3},
		{"the rule is off", styles, -1, 30, 0},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			site := &crawltest.Site{Name: "a.test", Pages: map[string]crawltest.Page{}}
			target := func(i int) string { return "/photo/" + strconv.Itoa(i) }
			for i := range 30 {
				site.Pages[target(i)] = crawltest.Page{
					Body: "<title>Gallery</title>" + strings.ReplaceAll(tt.embed, "%d", strconv.Itoa(i)) + "<p>" + text + "<a href=" + target(i+1) + ">next</a>",
				}
			}
			w := newWorld(t, []string{"http://a.test" + target(0)}, site)
			w.cfg.Scope.Requisites, w.cfg.Traps.Copy = scope.RequisitesNone, tt.copy
			if s := w.run(); s.Status.Pages != tt.pages || s.Status.Links[trap.RuleCopy] != tt.copies {
				t.Errorf("%d pages, %v", s.Status.Pages, s.Status.Links)
			}
		})
	}
}

func TestStories_Copies(t *testing.T) {
	const text = "We have moved to another place and will be back here before long."
	days := &crawltest.Site{Name: "a.test", Pages: pages{}}
	var seeds []string
	for i := range 40 {
		target := "/?day=" + strconv.Itoa(i)
		days.Pages[target] = crawltest.Page{Title: "Nothing", Text: "There is nothing here, on no day."}
		seeds = append(seeds, "http://a.test"+target)
	}
	playAll(t, []scenario{
		{
			name: "rule 22: a seed is not held", seeds: strings.Join(seeds, " "), sites: []*crawltest.Site{days},
			set: func(w *world) { w.cfg.Traps = trap.Limits{Queries: 10, Template: 10} }, figures: map[string]int64{"fetched": 40, "held": 0},
		},
		{ // the copy is fetched, recorded and counted as a page; its pictures and links are not followed
			name: "rule 22: a copy is kept, its links are dropped",
			sites: []*crawltest.Site{{Name: "a.test", Pages: pages{
				"/": {Title: "The house", Links: []string{"/x"}}, "/none": {},
				"/x": {Body: "<title>Moved</title><p>" + text + "<a href=/y>on</a>", Links: []string{"/y"}},
				"/y": {Body: "<title>Moved</title><p>" + text + "<a href=/z>on</a>"}, // the referee does not know the link
				"/z": {Body: "never"},
			}}},
			outcomes: map[string]string{"a.test/y": "fetched: " + trap.RuleCopy, "a.test/z": ""}, asked: map[string]string{"a.test": "/robots.txt / /x /y"},
			figures: map[string]int64{"pages": 3, "links_not_followed/" + trap.RuleCopy: 1, "exchanges": 4}, rules: crawltest.Rules{Pace: Floor},
		},
	})
}
