package crawltest

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"strings"
)

// Demo returns the web of the demonstration: twelve authorities that between them show what a polite crawler has to
// cope with. Text, colours and pictures depend on seed; names, links and behaviour do not. A crawl that keeps one
// second between exchanges, and leaves alone what it should, asks at most thirteen times at each host.
func Demo(seed uint64) *Web {
	d := demo{seed}
	return New(
		d.bakery(), d.library(), d.museum(), d.garden(), d.observatory(), d.theatre(),
		d.harbour(), d.station(), d.archive(), d.school(), d.atlas(), d.market(),
	)
}

// demo makes the sites.
type demo struct{ seed uint64 }

// draft is a site of the demo in the making.
type draft struct {
	demo
	*Site
	subjects []string // that its text is about
}

func (d demo) site(name, robots string, subjects ...string) draft {
	return draft{d, &Site{Name: name, Pages: map[string]Page{}, Robots: Robots{Body: robots}}, subjects}
}

// chance returns the random numbers of one page: they do not depend on the order in which pages are made.
func (d demo) chance(host, path string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(host + path))
	return rand.New(rand.NewPCG(d.seed, h.Sum64()))
}

// add adds a page, with text, and a link home.
func (d draft) add(path string, p Page) {
	if p.Title == "" {
		p.Title = label(path)
	}
	p.Title += " · " + strings.TrimSuffix(d.Name, ".test")
	p.Text = Paragraphs(d.chance(d.Name, path), d.subjects)
	if path != "/" && p.Redirect == "" {
		p.Links = append([]string{"/"}, p.Links...)
	}
	d.Pages[path] = p
}

// page adds a page that does nothing but link.
func (d draft) page(path, title string, links ...string) {
	d.add(path, Page{Title: title, Links: links})
}

// pages adds pages that link home only.
func (d draft) pages(paths ...string) {
	for _, path := range paths {
		d.page(path, "")
	}
}

// style adds a style sheet.
func (d draft) style(path string) {
	r := d.chance(d.Name, path)
	d.Pages[path] = Page{Body: fmt.Sprintf(
		"body { font: 1rem/1.5 serif; max-width: 40em; margin: auto; color: #%06x; background: #%06x }\nh1 { letter-spacing: .%dem }\n",
		r.IntN(0x600000), 0xe0e0e0|r.IntN(0x1f1f1f), 1+r.IntN(9))}
}

// picture adds a small picture.
func (d draft) picture(path string) {
	r := d.chance(d.Name, path)
	img := image.NewNRGBA(image.Rect(0, 0, 16, 16))
	from, to := color.NRGBA{uint8(r.IntN(256)), uint8(r.IntN(256)), uint8(r.IntN(256)), 255},
		color.NRGBA{255, 255, 255, 255}
	for y := range 16 {
		for x := range 16 {
			if img.Set(x, y, to); (x/4+y/4)%2 == 0 {
				img.Set(x, y, from)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // an image of a fixed, legal size in memory
	}
	d.Pages[path] = Page{Body: b.String()}
}
