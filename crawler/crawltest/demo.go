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
	"net/http"
	"net/url"
	"path"
	"strings"
)

//go:embed demo.txt
var demoSites string

// Demo returns the web of the demonstration: twelve authorities that show what a polite crawler must handle. Only text,
// colours and pictures depend on seed. A polite crawl makes at most thirteen requests to each host.
func Demo(seed uint64) *Web {
	var sites []*Site
	var s *Site
	var subjects []string // of its text
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

// chance returns a random source for one page, whatever the order in which pages are made.
func chance(seed uint64, host, path string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(host + path))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// demoPage fills in a page's text and link home, its colours, or its picture.
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

type FaultKind string

// The kinds that reports treat specially.
const (
	Moved  FaultKind = "permanent redirect"
	Chain  FaultKind = "chain of redirects"
	NoURL  FaultKind = "no URL"
	TwoIDs FaultKind = "id that stands twice"
)

type Fault struct {
	Kind FaultKind
	URL  string // path of the broken URL; of TwoIDs, the page; of NoURL, as written
	Page string // path of the page that has it
	Line int
	Name string // the id of TwoIDs
}

// FaultySite serves pages with known faults.
type FaultySite struct {
	pages  map[string]Page
	faults []Fault
}

//go:embed faulty.txt
var faultyText string

func NewFaultySite() *FaultySite {
	s := &FaultySite{pages: map[string]Page{}}
	for e := range Entries(faultyText) {
		for _, target := range e.Words {
			path, _ := url.PathUnescape(target) // the text is fixed
			p := e.Page()
			p.Body = s.plant(path, p.Body)
			s.pages[path] = p
		}
	}
	return s
}

// plant records the faults of a page and returns its text without the lines that declare them.
func (s *FaultySite) plant(page, text string) string {
	var b strings.Builder
	line := 0
	for l := range strings.Lines(text) {
		fault, ok := strings.CutPrefix(l, "! ")
		if !ok {
			line++
			b.WriteString(l)
			continue
		}
		f := append(strings.Split(strings.TrimSpace(fault), " | "), "")
		x := Fault{Kind: FaultKind(f[0]), URL: f[1], Page: page, Line: line + 1, Name: f[2]}
		if x.Name == "-" {
			x.Line, x.Name = 0, ""
		}
		s.faults = append(s.faults, x)
	}
	return b.String()
}

func (s *FaultySite) Faults() []Fault { return s.faults }

func (s *FaultySite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p, ok := s.pages[r.URL.Path]
	switch {
	case !ok:
		http.NotFound(w, r)
		return
	case p.Redirect != "":
		w.Header().Set("Location", p.Redirect)
		w.WriteHeader(p.Status)
		return
	case p.Status != 0:
		w.WriteHeader(p.Status)
		return
	case p.Type == "":
		p.Type = "text/html; charset=utf-8"
	}
	w.Header().Set("Content-Type", p.Type)
	_, _ = w.Write([]byte(p.Body)) // an error means that the client has gone
}
