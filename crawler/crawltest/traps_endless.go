package crawltest

import (
	"fmt"
	"hash/fnv"
	"html"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The sites of this file have no end. Each is one Trap behind an ordinary front page; most is how many requests in it
// are forgiven.

// endlessSite is a site of a front page and a trap, which the front page leads into.
func endlessSite(name, into, prefix string, most int, page func(target string) Page) *Site {
	return &Site{
		Name:  name,
		Pages: map[string]Page{"/": {Title: "Welcome", Text: madeUp(name, 0, "the town"), Links: []string{into}}},
		Traps: []Trap{{Prefix: prefix, Most: most, Page: page}},
	}
}

// Calendar has a page for each month, in which there is nothing: /calendar?date=2026-11, or with path
// /calendar/2026/11/.
func Calendar(name string, path bool, most int) *Site {
	form, prefix := "/calendar?date=2006-01", "/calendar?"
	if path {
		form, prefix = "/calendar/2006/01/", "/calendar/"
	}
	first := time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)
	return endlessSite(name, first.Format(form), prefix, most, func(target string) Page {
		month, err := time.Parse(form, target)
		if err != nil {
			return Page{Status: 404}
		}
		text := "Monday Tuesday Wednesday Thursday Friday Saturday Sunday\n\n"
		for day := month; day.Month() == month.Month(); day = day.AddDate(0, 0, 1) {
			text += strconv.Itoa(day.Day()) + " "
		}
		return Page{
			Title: month.Format("January 2006"), Text: text + "\n\nThere are no events in " + month.Format("January 2006") + ".",
			Links: []string{month.AddDate(0, 1, 0).Format(form), month.AddDate(0, -1, 0).Format(form), "/"},
		}
	})
}

// Sessions has few pages, each of which gives every link in it a session id that was never there before.
func Sessions(name string, pages, most int) *Site {
	link := func(from string, page int) string {
		h := fnv.New64a()
		fmt.Fprint(h, from, page)
		return fmt.Sprintf("/shop/%d.html?sid=%016x%016x", page, h.Sum64(), h.Sum64()*31+1)
	}
	return endlessSite(name, link("", 0), "/shop/", most, func(target string) Page {
		number, _, _ := strings.Cut(strings.TrimPrefix(target, "/shop/"), ".html")
		n, err := strconv.Atoi(number)
		if err != nil || n >= pages {
			return Page{Status: 404}
		}
		_, sid, _ := strings.Cut(target, "=")
		links, labels := make([]string, pages), make([]string, pages)
		for to := range pages {
			links[to], labels[to] = link(target, to), fmt.Sprintf("page %d", to)
		}
		return labelled(fmt.Sprintf("Shop, page %d", n), madeUp(name, n, "a lamp")+" Your session: "+sid, links, labels)
	})
}

// Mirrored has a folder that holds itself: /files/a/b/a/b/ and so on list the same.
func Mirrored(name string, most int) *Site {
	return endlessSite(name, "/files/", "/files/", most, func(target string) Page {
		return Page{
			Title: "Index of " + target,
			Text: "Name Last modified Size Description of the files in " + target +
				"\n\nreadme 2019-03-12 11:40 2.1K the terms",
			Links: []string{"../", "docs/", "data/"},
		}
	})
}

// Facets shows the same few dozen results under ever more filters: each page adds one, or another order of those.
func Facets(name string, most int) *Site {
	facets := []string{"colour", "size", "brand", "price", "rating", "stock"}
	return endlessSite(name, "/search?f=all", "/search?", most, func(target string) Page {
		_, query, _ := strings.Cut(target, "?")
		chosen := strings.Split(query, "&")
		seen := slices.Compact(slices.Sorted(slices.Values(chosen))) // order and repetition change nothing
		var links []string
		if len(target) < 4000 {
			for i, f := range facets {
				links = append(links, fmt.Sprintf("/search?%s&%s=%d", query, f, i))
			}
		}
		return labelled("Results", madeUp(name, len(strings.Join(seen, "&"))%24, "a chair"), links, facets[:len(links)])
	})
}

// SoftNotFound answers every path with one page, which leads on to others.
func SoftNotFound(name string, most int) *Site {
	return endlessSite(name, "/old/news.html", "/old/", most, func(target string) Page {
		return Page{
			Title: "Not here",
			Text:  "We are sorry: there is nothing at " + target + " any more. Perhaps one of these pages has what you want.",
			Links: []string{"news/", "people/", "archive/", "products/", "press/"},
		}
	})
}

// labelled is a page whose links are called something that is not made of their targets.
func labelled(title, text string, links, labels []string) Page {
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<title>%s</title>\n<p>%s</p>\n", html.EscapeString(title), html.EscapeString(text))
	for i, to := range links {
		fmt.Fprintf(&b, "<a href=\"%s\">%s</a>\n", html.EscapeString(to), html.EscapeString(labels[i]))
	}
	return Page{Body: b.String(), Links: links}
}
