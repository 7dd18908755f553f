package crawltest

import (
	"bytes"
	_ "embed"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"path"
	"strings"
)

//go:embed demo.txt
var demoSites string

// Demo returns the web of the demonstration: twelve authorities that between them show what a polite crawler has to
// cope with. Text, colours and pictures depend on seed; names, links and behaviour do not. A crawl that keeps one
// second between exchanges, and leaves alone what it should, asks at most thirteen times at each host.
func Demo(seed uint64) *Web {
	var sites []*Site
	var s *Site
	var subjects []string // that its text is about
	for e := range Entries(demoSites) {
		if e.Site {
			s = &Site{Name: e.Words[0], Pages: map[string]Page{}}
			sites, subjects = append(sites, s), strings.Split(e.Field("Subjects"), "; ")
			continue
		}
		for _, target := range e.Words {
			s.Pages[target] = demoPage(s.Name, target, e.Page(), chance(seed, s.Name, target), subjects)
		}
	}
	for _, s := range sites {
		if s.Name == "archive.test" {
			s.Traps = []Trap{{Prefix: "/attic/", Most: 10, Page: func(target string) Page {
				return Page{Title: "The attic", Links: []string{"/", "older/"},
					Text: Paragraphs(chance(seed, s.Name, target), []string{"a bundle of letters", "the clerk"})}
			}}}
		}
	}
	return New(sites...)
}

// chance returns the random numbers of one page: they do not depend on the order in which pages are made.
func chance(seed uint64, host, path string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(host + path))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// demoPage makes what a page lacks: its text and a link home, its colours, or its picture.
func demoPage(site, target string, p Page, r *rand.Rand, subjects []string) Page {
	switch ext := path.Ext(target); {
	case p.Body != "" || p.Redirect != "":
	case ext == ".css":
		p.Body = fmt.Sprintf(
			"body { font: 1rem/1.5 serif; max-width: 40em; margin: auto; color: #%06x; background: #%06x }\nh1 { letter-spacing: .%dem }\n",
			r.IntN(0x600000), 0xe0e0e0|r.IntN(0x1f1f1f), 1+r.IntN(9))
	case ext == ".png":
		p.Body = chequers(color.NRGBA{uint8(r.IntN(256)), uint8(r.IntN(256)), uint8(r.IntN(256)), 255})
	default:
		if p.Title == "" {
			p.Title = label(target)
		}
		p.Title += " · " + strings.TrimSuffix(site, ".test")
		p.Text = Paragraphs(r, subjects)
		if target != "/" {
			p.Links = append([]string{"/"}, p.Links...)
		}
	}
	return p
}

// chequers is a small picture.
func chequers(from color.Color) string {
	img := image.NewNRGBA(image.Rect(0, 0, 16, 16))
	for y := range 16 {
		for x := range 16 {
			if img.Set(x, y, color.White); (x/4+y/4)%2 == 0 {
				img.Set(x, y, from)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // an image of a fixed, legal size in memory
	}
	return b.String()
}
