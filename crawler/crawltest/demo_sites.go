package crawltest

import (
	"time"
)

// bakery: rules with an exception, a wildcard and a query.
func (d demo) bakery() *Site {
	s := d.site("bakery.test", `User-agent: *
Disallow: /kitchen/
Allow: /kitchen/tour/
Disallow: /*.pdf$
Disallow: /*?print=
`, "the rye starter", "the morning shift", "a tray of rolls")
	s.add("/", Page{
		Title: "Bread since 1987", Embeds: []string{"/style.css"},
		Links: []string{"/bread/", "/cakes/", "/kitchen/", "/kitchen/tour/", "/prices.pdf", "contact.html",
			"http://library.test/", "http://market.test/"},
	})
	s.style("/style.css")
	s.page("/bread/", "Bread", "rye.html", "wheat.html", "rye.html?print=1")
	s.page("/bread/rye.html", "Rye", "?print=1", "wheat.html")
	s.page("/cakes/", "Cakes", "plum.html", "cheese.html", "./plum.html?print=1", "../bread/")
	s.pages("/bread/wheat.html", "/cakes/plum.html", "/cakes/cheese.html", "/contact.html")
	s.page("/kitchen/tour/", "A tour of the kitchen", "../recipes.html", "../staff.html")
	s.pages("/kitchen/", "/kitchen/recipes.html", "/kitchen/staff.html", "/bread/rye.html?print=1",
		"/cakes/plum.html?print=1")
	s.Pages["/prices.pdf"] = Page{Body: "%PDF-1.4\n%%EOF\n"}
	return s.Site
}

// library: no robots.txt of its own, compressed pages, and the file that the museum's robots.txt redirects to.
func (d demo) library() *Site {
	s := d.site("library.test", "", "a borrowed atlas", "the reading room", "an overdue novel")
	s.page("/", "The town library", "/shelves/", "/hours.html", "/rules.html", "http://museum.test/",
		"http://archive.test/")
	s.page("/shelves/", "Shelves", "astronomy.html", "botany.html", "cookery.html", "drama.html", "engines.html",
		"fables.html")
	for _, shelf := range []string{"astronomy", "botany", "cookery", "drama", "engines", "fables"} {
		s.add("/shelves/"+shelf+".html", Page{Gzip: true, Links: []string{"./", "/hours.html#today"}})
	}
	s.add("/hours.html", Page{Gzip: true})
	s.pages("/rules.html")
	s.Pages["/for-others/museum-robots.txt"] = Page{Body: "User-agent: *\nDisallow: /depot/\n"}
	return s.Site
}

// museum: its robots.txt is kept by another host.
func (d demo) museum() *Site {
	s := d.site("museum.test", "", "the oldest clock", "the whale", "a Roman coin")
	s.Robots = Robots{Status: 301, Redirect: "http://library.test/for-others/museum-robots.txt"}
	s.add("/", Page{Title: "The museum", Embeds: []string{"style.css"},
		Links: []string{"/halls/", "/visit.html", "/depot/", "http://garden.test/"}})
	s.style("/style.css")
	s.page("/halls/", "Halls", "1.html", "2.html", "3.html", "4.html")
	s.pages("/halls/1.html", "/halls/2.html", "/halls/3.html", "/halls/4.html", "/visit.html")
	s.page("/depot/", "Depot", "box-1.html", "box-2.html", "box-3.html", "box-4.html")
	s.pages("/depot/box-1.html", "/depot/box-2.html", "/depot/box-3.html", "/depot/box-4.html")
	return s.Site
}

// garden: robots.txt redirected within the host; a page in ISO 8859-1 whose links are not ASCII.
func (d demo) garden() *Site {
	s := d.site("garden.test", "", "the first snowdrop", "the head gardener", "a hedgehog")
	s.Robots = Robots{Redirect: "/garden-rules.txt"}
	s.Pages["/garden-rules.txt"] = Page{Body: "User-agent: *\nDisallow: /compost/\n"}
	s.page("/", "The garden", "/beds/", "/kräuter.html", "/ponds.html", "/compost/", "http://observatory.test/")
	s.page("/beds/", "Beds", "spring.html", "summer.html", "autumn.html", "winter.html")
	s.pages("/beds/spring.html", "/beds/summer.html", "/beds/autumn.html", "/beds/winter.html", "/ponds.html")
	s.add("/kräuter.html", Page{Title: "Kräuter", Charset: "iso-8859-1", Links: []string{"/bäume.html", "/beds/"}})
	s.page("/bäume.html", "Bäume", "/kr%c3%a4uter.html")
	s.page("/compost/", "Compost", "heap-1.html", "heap-2.html", "heap-3.html")
	s.pages("/compost/heap-1.html", "/compost/heap-2.html", "/compost/heap-3.html")
	return s.Site
}

// observatory: few pages, and a Crawl-delay.
func (d demo) observatory() *Site {
	s := d.site("observatory.test", "User-agent: *\nCrawl-delay: 1.5\nDisallow: /raw/\n", "the great refractor",
		"a lost comet", "the night assistant")
	s.page("/", "The observatory", "/moon.html", "/planets/", "/raw/", "http://theatre.test/")
	s.page("/planets/", "Planets", "mars.html", "venus.html", "saturn.html")
	s.pages("/moon.html", "/planets/mars.html", "/planets/venus.html", "/planets/saturn.html")
	s.page("/raw/", "Raw plates", "plate-1.html", "plate-2.html", "plate-3.html")
	s.pages("/raw/plate-1.html", "/raw/plate-2.html", "/raw/plate-3.html")
	return s.Site
}

// theatre: robots.txt is out of order, so that nothing may be fetched.
func (d demo) theatre() *Site {
	s := d.site("theatre.test", "", "the understudy", "a velvet curtain")
	s.Robots = Robots{Status: 503, Body: "closed for rehearsals\n"}
	s.page("/", "The theatre", "/plays/", "/tickets.html", "/cast.html")
	s.page("/plays/", "Plays", "tempest.html", "seagull.html", "tartuffe.html", "faust.html")
	s.pages("/plays/tempest.html", "/plays/seagull.html", "/plays/tartuffe.html", "/plays/faust.html", "/tickets.html",
		"/cast.html")
	return s.Site
}

// harbour: redirects of all kinds.
func (d demo) harbour() *Site {
	s := d.site("harbour.test", "# Everybody is welcome.\nUser-agent: *\nDisallow:\n", "the pilot boat",
		"the harbour master")
	s.page("/", "The harbour", "/old-pier", "/ferry", "/loop/east", "/loop/still", "/tide/1", "/boats.html")
	s.Pages["/old-pier"] = Page{Status: 301, Redirect: "/pier.html"}
	s.Pages["/ferry"] = Page{Status: 307, Redirect: "http://station.test/timetable.html"}
	s.Pages["/loop/east"] = Page{Redirect: "west"}
	s.Pages["/loop/west"] = Page{Redirect: "/loop/east"}
	s.Pages["/loop/still"] = Page{Redirect: "/loop/still"}
	s.Pages["/tide/1"] = Page{Status: 303, Redirect: "http://harbour.test/tide/2"}
	s.Pages["/tide/2"] = Page{Status: 308, Redirect: "high.html"}
	s.page("/pier.html", "The pier", "/boats.html", "http://bakery.test/bread/")
	s.pages("/boats.html", "/tide/high.html")
	return s.Site
}

// station: a slow page, and one that at first asks for rest.
func (d demo) station() *Site {
	s := d.site("station.test", "User-agent: *\nDisallow: /signal-box/\n", "the last train", "a forgotten umbrella")
	s.page("/", "The station", "/busy.html", "/slow.html", "/platforms/", "/timetable.html", "/signal-box/",
		"http://harbour.test/")
	s.add("/busy.html", Page{FailFirst: 1, FailStatus: 429, RetryAfter: "2"})
	s.add("/slow.html", Page{Delay: 300 * time.Millisecond})
	s.page("/platforms/", "Platforms", "1.html", "2.html", "3.html")
	s.pages("/platforms/1.html", "/platforms/2.html", "/platforms/3.html", "/timetable.html")
	s.page("/signal-box/", "Signal box", "levers.html", "lamps.html")
	s.pages("/signal-box/levers.html", "/signal-box/lamps.html")
	return s.Site
}

// archive: pages that are gone, and a path without end.
func (d demo) archive() *Site {
	s := d.site("archive.test", "", "a bundle of letters", "the clerk")
	s.page("/", "The archive", "/attic/", "/years/", "/lost.html", "/withdrawn.html")
	s.page("/years/", "Years", "1998.html", "1999.html", "2000.html")
	s.pages("/years/1998.html", "/years/1999.html", "/years/2000.html")
	s.add("/withdrawn.html", Page{Status: 410})
	s.Traps = []Trap{{Prefix: "/attic/", Most: 10, Page: func(target string) Page {
		return Page{Title: "The attic", Text: Paragraphs(d.chance(s.Name, target), s.subjects),
			Links: []string{"/", "older/"}}
	}}}
	return s.Site
}

// school: pages and links that ask not to be followed or indexed.
func (d demo) school() *Site {
	s := d.site("school.test", "User-agent: *\nDisallow: /grades/\n", "class three", "the janitor")
	s.add("/", Page{
		Title: "The school", NoFollow: []string{"/login"},
		Links: []string{"/classes/", "/board.html", "/notes.html", "/lunch.html", "/grades/", "http://atlas.test/"},
	})
	s.page("/classes/", "Classes", "one.html", "two.html")
	s.pages("/classes/one.html", "/classes/two.html")
	s.add("/lunch.html", Page{Robots: "noindex", Links: []string{"/menu.html"}})
	s.add("/board.html",
		Page{Robots: "nofollow", Embeds: []string{"/board.png"}, Links: []string{"/board/1.html", "/board/2.html"}})
	s.add("/notes.html", Page{Header: map[string]string{"X-Robots-Tag": "noindex, nofollow"},
		Links: []string{"/notes/1.html", "/notes/2.html"}})
	s.picture("/board.png")
	s.pages("/menu.html", "/login", "/board/1.html", "/board/2.html", "/notes/1.html", "/notes/2.html", "/grades/")
	return s.Site
}

// atlas: URLs that look alike and are not, and others that look different and are one.
func (d demo) atlas() *Site {
	s := d.site("atlas.test", "User-agent: *\nDisallow: /secret%2Fisland\n", "the cartographer", "a white spot")
	s.page("/", "The atlas",
		"/north%2Fsouth", "/north/south", // an escaped slash is no slash
		"/map?x=1&y=2", "/map?y=2&x=1", // a query has an order
		"/%7Etraveller/", "/~traveller/", "/%7etraveller/", // one page (RFC 3986 6.2.2.2)
		"/straße", "/stra%c3%9fe", // likewise
		"/Coast.html", "/coast.html",
		"/sea;depth=deep", "/a/./b/../lake%20district",
		"/secret%2Fisland", "/secret/island", // only the first is disallowed
	)
	s.pages("/north%2Fsouth", "/north/south", "/map?x=1&y=2", "/map?y=2&x=1", "/~traveller/", "/stra%C3%9Fe",
		"/Coast.html", "/coast.html", "/sea;depth=deep", "/a/lake%20district", "/secret%2Fisland", "/secret/island")
	return s.Site
}

// market: styles, scripts and pictures; a page with a base; and a robots.txt that welcomes only one crawler.
func (d demo) market() *Site {
	s := d.site("market.test", "User-agent: *\nDisallow: /\n\nUser-agent: curtsy\nDisallow: /office/\n", "the fishmonger",
		"a crate of pears")
	s.add("/", Page{
		Title: "Market day", Embeds: []string{"/style.css", "/clock.js", "/logo.png"},
		Links: []string{"/stalls/", "/offers.html", "/office/", "http://school.test/"},
	})
	s.style("/style.css")
	s.Pages["/clock.js"] = Page{Body: "document.title += ' ' + new Date().getHours() + 'h';\n"}
	s.picture("/logo.png")
	s.page("/stalls/", "Stalls", "fish.html", "fruit.html")
	s.pages("/stalls/fish.html", "/stalls/fruit.html")
	// Declared as they are after the base.
	s.Pages["/offers.html"] = Page{
		Body: `<!DOCTYPE html>
<title>Offers · market</title>
<base href="/stalls/">
<p>Pears! <img src="pears.png" srcset="pears.png 1x, pears-large.png 2x" alt="pears"></p>
<p><a href="fruit.html">All fruit</a></p>
`,
		Links: []string{"/stalls/fruit.html"}, Embeds: []string{"/stalls/pears.png", "/stalls/pears-large.png"},
	}
	s.picture("/stalls/pears.png")
	s.picture("/stalls/pears-large.png")
	s.page("/office/", "Office", "ledger.html", "keys.html")
	s.pages("/office/ledger.html", "/office/keys.html")
	return s.Site
}
