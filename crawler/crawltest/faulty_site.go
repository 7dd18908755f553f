package crawltest

import (
	"fmt"
	"net/http"
	"strings"
)

// Kind is a kind of fault.
type Kind string

// The kinds.
const (
	notFound      Kind = "404"
	gone          Kind = "410"
	forbidden     Kind = "403"
	badRequest    Kind = "400"
	noImage       Kind = "image that is not there"
	noCandidate   Kind = "candidate of a srcset that is not there"
	noScript      Kind = "script that is not there"
	noStyle       Kind = "style sheet that is not there"
	noFont        Kind = "what a style sheet names is not there"
	noFrame       Kind = "frame that is not there"
	noArea        Kind = "area or refresh that leads nowhere"
	noFragment    Kind = "fragment that the same page lacks"
	noFarFragment Kind = "fragment that another page lacks"
	noLedFragment Kind = "fragment that the page behind a redirect lacks"
	Moved         Kind = "permanent redirect"
	Chain         Kind = "chain of redirects"
	loop          Kind = "redirect loop"
	movedAway     Kind = "redirect to a page that is not there"
	noMedia       Kind = "poster, sound or track that is not there"
	noObject      Kind = "object that is not there"
	noSource      Kind = "source of a picture that is not there"
	noSVG         Kind = "what SVG names is not there"
	noIcon        Kind = "icon that is not there"
	noImport      Kind = "imported style sheet that is not there"
	noAlternate   Kind = "alternate, canonical or next page that is not there"
	noEncoded     Kind = "encoded URL that leads nowhere"
	noOddFragment Kind = "fragment in other letters"
	noRefresh     Kind = "refresh that leads nowhere"
	noBased       Kind = "reference below a base that leads nowhere"
	NoURL         Kind = "no URL"
	TwoIDs        Kind = "id that stands twice"
)

// Fault is one fault.
type Fault struct {
	Kind Kind
	URL  string // the broken one, below the site; of TwoIDs, the page; of NoURL, as written
	Page string // that has it, below the site
	Line int
	Name string // of TwoIDs, the id
}

// FaultySite serves the faults.
type FaultySite struct {
	pages  map[string]string
	types  map[string]string
	status map[string]int
	moved  map[string]string
	faults []Fault
}

// Faults are all there are.
func (s *FaultySite) Faults() []Fault { return s.faults }

// ServeHTTP implements http.Handler.
func (s *FaultySite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	status, known := s.status[path]
	switch to, moved := s.moved[path]; {
	case moved:
		w.Header().Set("Location", to)
		w.WriteHeader(status)
		return
	case known:
		w.WriteHeader(status)
		return
	}
	body, ok := s.pages[path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	kind := s.types[path]
	if kind == "" {
		kind = "text/html; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	fmt.Fprint(w, body)
}

// building makes a page line by line.
type building struct {
	site *FaultySite
	path string
	line int
	b    strings.Builder
}

func (s *FaultySite) page(path string) *building {
	p := &building{site: s, path: path}
	return p
}

// say adds a line without a fault.
func (p *building) say(line string) {
	p.line++
	p.b.WriteString(line + "\n")
}

// plant adds a line with a fault.
func (p *building) plant(kind Kind, url, line string) {
	p.say(line)
	p.site.faults = append(p.site.faults, Fault{Kind: kind, URL: url, Page: p.path, Line: p.line})
}

func (p *building) end(kind string) {
	p.site.pages[p.path], p.site.types[p.path] = p.b.String(), kind
}
