package crawltest

import (
	_ "embed"
	"net/http"
	"net/url"
	"strings"
)

// FaultKind is a kind of fault.
type FaultKind string

// The kinds that are told of otherwise than the others.
const (
	Moved  FaultKind = "permanent redirect"
	Chain  FaultKind = "chain of redirects"
	NoURL  FaultKind = "no URL"
	TwoIDs FaultKind = "id that stands twice"
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
	pages  map[string]Page
	faults []Fault
}

//go:embed faulty.txt
var faultyText string

// NewFaultySite makes the site.
func NewFaultySite() *FaultySite {
	s := &FaultySite{pages: map[string]Page{}}
	for e := range Entries(faultyText) {
		for _, target := range e.Words {
			path, _ := url.PathUnescape(target) // the text is ours
			p := e.Page()
			p.Body = s.plant(path, p.Body)
			s.pages[path] = p
		}
	}
	return s
}

// plant notes the faults of a page, and returns its text without what is said of them.
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

// Faults are all there are.
func (s *FaultySite) Faults() []Fault { return s.faults }

// ServeHTTP implements http.Handler.
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
