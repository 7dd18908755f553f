//go:build peers

package main

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/frontier"
)

// study is a crawl of a small web and its update a year later, in virtual time: the archive that the recipes of
// docs/guides/recipes.md are run on. Names and dates are the same whenever it is made; keys are not. No page is named by two hosts at
// one instant: the tag of whoever comes first is the page's.
func study(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "study")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		web := crawltest.New(studied()...)
		web.StartPipe()
		defer web.Close()
		settings := crawldir.Defaults()
		settings.Agent, settings.Contact = "studybot", "lab@example.edu"
		settings.Scope, settings.MaxPages = "any", 200
		settings.AllowNet = append(settings.AllowNet, web.Net().String())
		var seeds []frontier.Candidate
		for _, s := range [][2]string{
			{"http://news.example.org/", "press"}, {"http://daily.example.org/", "press"},
			{"http://shop.example.com/", "trade"}, {"http://blog.example.net/", "people"},
		} {
			c, err := crawldir.Seed(s[0], s[1])
			require.NoError(t, err)
			seeds = append(seeds, c)
		}
		require.NoError(t, crawldir.CreateUnchecked(t.Context(), dir, &settings, crawldir.Given(seeds)))
		o := crawldir.Options{Unheard: true, Resolve: web.Resolve, Dial: web.Dial}
		if _, err := crawldir.Run(t.Context(), dir, o); err != nil {
			t.Fatal(err)
		}
		time.Sleep(365 * 24 * time.Hour)
		aYearLater(web)
		if _, err := crawldir.Update(t.Context(), dir, nil, &settings); err != nil {
			t.Fatal(err)
		}
		if _, err := crawldir.Run(t.Context(), dir, o); err != nil {
			t.Fatal(err)
		}
	})
	return dir
}

const (
	english = "The harbour was built by people who traded in grain and salt, and its warehouses still stand along the water. " +
		"Ships from the north came in autumn, before the ice, and left with cloth, wine and letters. What remains of the old walls " +
		"can be seen from the bridge, and a small museum shows how the cranes were moved by men who walked in a wheel."
	german = "Der Hafen wurde von Leuten gebaut, die mit Getreide und Salz handelten, und die Speicher stehen noch heute am Wasser. " +
		"Im Herbst kamen die Schiffe aus dem Norden, bevor das Eis sie aufhielt, und fuhren mit Tuch, Wein und Briefen zurück. " +
		"Was von den alten Mauern übrig ist, sieht man von der Brücke aus."
	french = "Le port fut construit par des gens qui faisaient le commerce du blé et du sel, et ses entrepôts se dressent toujours au bord " +
		"de l'eau. Les bateaux du nord arrivaient en automne, avant les glaces, et repartaient avec du drap, du vin et des lettres. " +
		"On voit ce qui reste des vieux murs depuis le pont."
)

// article is a page with a head, a menu and a text.
func article(lang, title, text string, links ...string) crawltest.Page {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="` + lang + `"><meta charset="utf-8"><title>` + title + `</title>` +
		`<meta name="description" content="` + title + `, in short"><main><h1>` + title + `</h1><p>` + text + `</p></main><ul>`)
	page := crawltest.Page{Type: "text/html; charset=utf-8", Header: map[string]string{"Server": "example/1.0"}}
	for _, l := range links {
		rel := ""
		if strings.Contains(l, "ads.") {
			rel = ` rel="nofollow sponsored"`
			page.NoFollow = append(page.NoFollow, l)
		} else {
			page.Links = append(page.Links, l)
		}
		b.WriteString(`<li><a href="` + l + `"` + rel + `>to ` + l + `</a>`)
	}
	b.WriteString(`</ul></html>`)
	page.Body = b.String()
	return page
}

func studied() []*crawltest.Site {
	return []*crawltest.Site{
		{Name: "news.example.org", Pages: map[string]crawltest.Page{
			"/": article("en", "News", english, "/a", "/b", "/c", "/lost", "http://daily.example.org/", "http://shop.example.com/",
				"http://blog.example.net/", "http://ads.example.com/banner", "mailto:news@example.org"),
			"/a":   article("en", "Harbour", english+" It was in the papers.", "/", "/b"),
			"/b":   article("en", "Museum", "The museum opens at ten and closes at six, but not on Mondays.", "/", "http://blog.example.net/2"),
			"/c":   article("en", "Weather", "Rain is expected in the morning, and sun in the afternoon.", "/"),
			"/old": {Status: 301, Redirect: "/a"},
		}},
		{Name: "daily.example.org", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /archive/\nCrawl-delay: 2\n"}, Pages: map[string]crawltest.Page{
			"/":     article("en", "Daily", english+" So says the daily.", "/copy", "/archive/1", "http://news.example.org/", "http://news.example.org/old"),
			"/copy": article("en", "Daily", english+" So says the daily.", "/"),
		}},
		{Name: "shop.example.com", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /cart\nCrawl-delay: 5\nSitemap: http://shop.example.com/sitemap.xml\n"},
			Pages: map[string]crawltest.Page{
				"/":       article("en", "Shop", "We sell cloth, wine, salt and letters of every size.", "/item/1", "/item/2", "/cart", "/error"),
				"/item/1": article("en", "Salt", "Salt from the sea, one pound, dried in the sun and packed by hand in paper bags of our own making.", "/"),
				"/item/2": article("en", "Wine", "Wine from the hills, one bottle.", "/"),
				"/error":  {Status: 500},
				"/sitemap.xml": {Type: "application/xml", Body: `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` +
					`<url><loc>http://shop.example.com/item/1</loc></url><url><loc>http://shop.example.com/item/3</loc></url></urlset>`},
				"/item/3": article("en", "Cloth", "Cloth of wool, by the yard.", "/"),
			}},
		{Name: "blog.example.net", Robots: crawltest.Robots{Body: "User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n\nUser-agent: trainbot\nDisallow: /\n"},
			Pages: map[string]crawltest.Page{
				"/":  article("de", "Tagebuch", german, "/1", "/2", "http://musee.example.net/"),
				"/1": article("de", "Am Hafen", german+" So steht es in der Zeitung.", "/", "http://news.example.org/a"),
				"/2": article("de", "Im Museum", "Das Museum öffnet um zehn Uhr und schließt um sechs, aber nicht am Montag.", "/", "http://news.example.org/b"),
			}},
		{Name: "musee.example.net", Pages: map[string]crawltest.Page{
			"/": article("fr", "Musée", french, "http://blog.example.net/", "http://gone.example.net/"),
		}},
		{Name: "ads.example.com", Robots: crawltest.Robots{Body: "User-agent: *\nDisallow: /\n"}, Pages: map[string]crawltest.Page{
			"/banner": article("en", "Buy", "Buy now."),
		}},
	}
}

// aYearLater is what becomes of the web.
func aYearLater(web *crawltest.Web) {
	web.Change("news.example.org", func(s *crawltest.Site) {
		s.Robots.Body = "User-agent: trainbot\nDisallow: /\n"
		s.Pages = maps.Clone(s.Pages)
		delete(s.Pages, "/b")
		s.Pages["/c"] = article("en", "Weather", "Snow is expected in the morning, and wind in the afternoon.", "/")
	})
	web.Change("daily.example.org", func(s *crawltest.Site) {
		s.Robots.Body = "User-agent: *\nDisallow: /archive/\nCrawl-delay: 10\n\nUser-agent: trainbot\nDisallow: /\n"
	})
	web.Change("shop.example.com", func(s *crawltest.Site) {
		s.Pages = maps.Clone(s.Pages)
		delete(s.Pages, "/item/2")
	})
}
