package crawltest

import (
	"fmt"
	"net/http"
	"strings"
)

// FaultKind is a kind of fault.
type FaultKind string

// The kinds.
const (
	notFound      FaultKind = "404"
	gone          FaultKind = "410"
	forbidden     FaultKind = "403"
	badRequest    FaultKind = "400"
	noImage       FaultKind = "image that is not there"
	noCandidate   FaultKind = "candidate of a srcset that is not there"
	noScript      FaultKind = "script that is not there"
	noStyle       FaultKind = "style sheet that is not there"
	noFont        FaultKind = "what a style sheet names is not there"
	noFrame       FaultKind = "frame that is not there"
	noArea        FaultKind = "area or refresh that leads nowhere"
	noFragment    FaultKind = "fragment that the same page lacks"
	noFarFragment FaultKind = "fragment that another page lacks"
	noLedFragment FaultKind = "fragment that the page behind a redirect lacks"
	Moved         FaultKind = "permanent redirect"
	Chain         FaultKind = "chain of redirects"
	loop          FaultKind = "redirect loop"
	movedAway     FaultKind = "redirect to a page that is not there"
	noMedia       FaultKind = "poster, sound or track that is not there"
	noObject      FaultKind = "object that is not there"
	noSource      FaultKind = "source of a picture that is not there"
	noSVG         FaultKind = "what SVG names is not there"
	noIcon        FaultKind = "icon that is not there"
	noImport      FaultKind = "imported style sheet that is not there"
	noAlternate   FaultKind = "alternate, canonical or next page that is not there"
	noEncoded     FaultKind = "encoded URL that leads nowhere"
	noOddFragment FaultKind = "fragment in other letters"
	noRefresh     FaultKind = "refresh that leads nowhere"
	noBased       FaultKind = "reference below a base that leads nowhere"
	NoURL         FaultKind = "no URL"
	TwoIDs        FaultKind = "id that stands twice"
)

// Fault is one fault.
type Fault struct {
	Kind FaultKind
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
func (p *building) plant(kind FaultKind, url, line string) {
	p.say(line)
	p.site.faults = append(p.site.faults, Fault{Kind: kind, URL: url, Page: p.path, Line: p.line})
}

func (p *building) end(kind string) {
	p.site.pages[p.path], p.site.types[p.path] = p.b.String(), kind
}
