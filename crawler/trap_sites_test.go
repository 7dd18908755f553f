package crawler

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"curtsy/crawler/crawltest"
)

// forumSite has topics with texts of their own at /viewtopic.php?t=1 …, listed by pages of 50 at /viewforum.php?start=0 …
func forumSite(name string, topics int) *crawltest.Site {
	const listed = 50
	s := &crawltest.Site{Name: name, Pages: make(map[string]crawltest.Page, topics+topics/listed+2)}
	s.Pages["/"] = crawltest.Page{Title: "The forum", Links: []string{"/viewforum.php?start=0"}}
	for from := 0; from < topics; from += listed {
		p := crawltest.Page{Title: "Topics", Text: madeUp(name, -1-from, "the list")}
		for t := from + 1; t <= min(from+listed, topics); t++ {
			p.Links = append(p.Links, fmt.Sprintf("/viewtopic.php?t=%d", t))
		}
		if from+listed < topics {
			p.Links = append(p.Links, fmt.Sprintf("/viewforum.php?start=%d", from+listed))
		}
		s.Pages[fmt.Sprintf("/viewforum.php?start=%d", from)] = p
	}
	for t := 1; t <= topics; t++ {
		s.Pages[fmt.Sprintf("/viewtopic.php?t=%d", t)] = crawltest.Page{
			Title: fmt.Sprintf("Topic %d", t), Text: madeUp(name, t, "a question"), Links: []string{"/"},
		}
	}
	return s
}

// tilesSite is a map of pictures, /12/2048/1361.png … in squares of 100, and of the pages that show them.
func tilesSite(name string, tiles int) *crawltest.Site {
	const shown, column = 100, 1000
	s := &crawltest.Site{Name: name, Pages: make(map[string]crawltest.Page, tiles+tiles/shown+1)}
	index := crawltest.Page{Title: "The map"}
	for from := 0; from < tiles; from += shown {
		p := crawltest.Page{Title: fmt.Sprintf("Sheet %d", from/shown), Text: madeUp(name, from, "the surveyor")}
		for i := from; i < min(from+shown, tiles); i++ {
			target := fmt.Sprintf("/12/%d/%d.png", 2048+i/column, 1361+i%column)
			p.Embeds = append(p.Embeds, target)
			s.Pages[target] = crawltest.Page{Body: fmt.Sprintf("\x89PNG\r\n\x1a\nTile %d", i)}
		}
		sheet := fmt.Sprintf("/sheet/%d", from/shown)
		index.Links = append(index.Links, sheet)
		s.Pages[sheet] = p
	}
	s.Pages["/"] = index
	return s
}

// olderPosts is a chain of pages, each with a link to older posts only.
func olderPosts(name string, pages int) *crawltest.Site {
	s := &crawltest.Site{Name: name, Pages: make(map[string]crawltest.Page, pages)}
	for i := 1; i <= pages; i++ {
		p := crawltest.Page{Title: "All posts", Text: madeUp(name, i, "the diarist")}
		if i < pages {
			p.Links = []string{fmt.Sprintf("/page/%d/", i+1)}
		}
		target := fmt.Sprintf("/page/%d/", i)
		if i == 1 {
			target = "/"
		}
		s.Pages[target] = p
	}
	return s
}

// shopSite has products, /p/1 …, and filters, /list?colour=…&size=…&maker=…&sort=…, each with products in a different order.
func shopSite(name string, products int) *crawltest.Site {
	colours, sizes := []string{"red", "green", "blue", "grey", "white"}, []string{"s", "m", "l"}
	sorts := []string{"price", "name", "age", "rating"}
	s := &crawltest.Site{Name: name, Pages: make(map[string]crawltest.Page, 2*products)}
	shelves := map[string][]int{}
	for i := 1; i <= products; i++ {
		shelf := fmt.Sprintf("colour=%s&size=%s&maker=%d", colours[i%5], sizes[i/5%3], i/15%20)
		shelves[shelf] = append(shelves[shelf], i)
		s.Pages[fmt.Sprintf("/p/%d", i)] = crawltest.Page{Title: fmt.Sprintf("No. %d", i), Text: madeUp(name, i, "the maker"),
			Links: []string{"/"}}
	}
	home := crawltest.Page{Title: "The shop"}
	for shelf, all := range shelves {
		home.Links = append(home.Links, "/list?"+shelf+"&sort="+sorts[0])
		for n, sort := range sorts[:min(len(sorts), len(all))] {
			p := crawltest.Page{Title: shelf, Text: "What there is:"}
			for _, i := range append(slices.Clone(all[n:]), all[:n]...) {
				p.Text += fmt.Sprintf("\n\nNo. %d: %s", i, madeUp(name, i, "the maker"))
				p.Links = append(p.Links, fmt.Sprintf("/p/%d", i))
			}
			for _, other := range sorts[:min(len(sorts), len(all))] {
				p.Links = append(p.Links, "/list?"+shelf+"&sort="+other)
			}
			s.Pages["/list?"+shelf+"&sort="+sort] = p
		}
	}
	slices.Sort(home.Links)
	s.Pages["/"] = home
	return s
}

// madeUp returns the same text for the same name and number.
func madeUp(name string, n int, subject string) string {
	seed := uint64(len(name))
	for _, c := range []byte(name) {
		seed = seed*131 + uint64(c)
	}
	return crawltest.Paragraphs(rand.New(rand.NewPCG(seed, uint64(n))), []string{subject})
}
