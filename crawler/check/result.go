package check

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"curtsy/storage"
)

// Kind says which kind of link is broken.
type Kind string

// The kinds. They are words of the command's JSON, which others build on.
const (
	KindLink      Kind = "link"      // for a reader to follow
	KindFragment  Kind = "fragment"  // the page is there, the place in it is not
	KindExternal  Kind = "external"  // on a host that the check is not of
	KindRequisite Kind = "requisite" // what a browser fetches to show the page
)

// Place is where a URL is mentioned. Its texts are the site's.
type Place struct {
	Page      string `json:"page"`
	Element   string `json:"element"`   // empty in a style sheet
	Attribute string `json:"attribute"` // in a style sheet "url", "import"
	Line      int    `json:"line"`      // from 1; 0 where it is not known
	Column    int    `json:"column"`    // in characters, from 1
	Text      string `json:"text,omitempty"`
}

// Finding is a URL that something is amiss with.
type Finding struct {
	URL    string  `json:"url"`
	Status int     `json:"status"` // 0 where there was no answer
	Reason string  `json:"reason"`
	Kind   Kind    `json:"kind"`
	On     []Place `json:"on"`
	Count  int64   `json:"count"` // mentions, of which On has the first MaxPlaces
}

// Redirect is a URL that leads elsewhere.
type Redirect struct {
	Finding
	To        string   `json:"to"`        // where it ends
	Permanent bool     `json:"permanent"` // each step is: the link should name To
	Via       []string `json:"via"`       // the steps between, if there are any
}

// Result is what is to be said of the links of a crawl.
type Result struct {
	Generation int64 `json:"generation"` // of the crawl: 1 for the first; 0 where it is not known

	Partial bool `json:"partial,omitempty"` // the crawl was interrupted or reached no host: URLs are left that were not tested

	Checked   int64 `json:"checked"`   // URLs that were asked for
	Documents int64 `json:"documents"` // pages, style sheets and SVG files that were read
	Mentions  int64 `json:"mentions"`  // of URLs, in these

	Broken     []Finding  `json:"broken"`
	Redirects  []Redirect `json:"redirects"`
	Insecure   []Finding  `json:"insecure"`      // http, where https answered
	Mixed      []Finding  `json:"mixed_content"` // requisites by http of a page by https
	Duplicates []Finding  `json:"duplicate_ids"` // Reason is the id, URL the page
	Undecided  []Finding  `json:"undecided"`     // leaves whose hosts do not answer robots
	Untested   []Finding  `json:"untested"`      // what nobody asked for, or nobody answered, and why

	Since   *Since    `json:"since,omitempty"`          // the crawl before, or a baseline
	Known   []Finding `json:"known,omitempty"`          // broken, as the baseline has them
	Ignored []Ignored `json:"ignored,omitempty"`        // broken, and left out
	Unused  []Ignore  `json:"unused_ignores,omitempty"` // lines that left nothing out

	External int64 `json:"external"`       // URLs of other hosts that nobody asked for
	Unread   int64 `json:"unread"`         // documents of which the archive lacks the body
	Left     int64 `json:"left,omitempty"` // findings beyond the bound

	// Whether a URL was requested, and whether anything of its host was; nil for a folder, all of whose files are read.
	asked, crawled func(url string) bool
}

func empty() *Result {
	return &Result{
		Broken: []Finding{}, Redirects: []Redirect{}, Insecure: []Finding{}, Mixed: []Finding{}, Duplicates: []Finding{},
		Undecided: []Finding{}, Untested: []Finding{},
	}
}

// Nothing is the result of a crawl that reached no host.
func Nothing() *Result {
	r := empty()
	r.Partial = true
	return r
}

// OverBudget counts the untested URLs that budgets left out, by the flag.
func (r *Result) OverBudget() map[string]int64 {
	over := map[string]int64{}
	for i := range r.Untested {
		if flag, ok := strings.CutPrefix(r.Untested[i].Reason, storage.RuleOfBudget); ok {
			over[flag]++
		}
	}
	return over
}

// MaxPlaces is how many places a finding has.
const MaxPlaces = 1000

const (
	pagePlaces  = 20     // of one finding on one page
	maxUnasked  = 10000  // findings of a kind about URLs that nobody asked for
	maxRepeated = 100000 // places in all, behind the first of each finding
)

// Within has a result of a folder that was served at an origin speak of that folder: its URLs are paths, and its pages
// are what file makes of their paths.
func (r *Result) Within(origin string, file func(path string) string) {
	r.asked, r.crawled = nil, nil
	short := func(s string) string { return strings.ReplaceAll(s, origin, "") }
	finding := func(f *Finding) {
		f.URL, f.Reason = short(f.URL), short(f.Reason)
		for i := range f.On {
			if p, ok := strings.CutPrefix(f.On[i].Page, origin); ok {
				f.On[i].Page = file(p)
			}
		}
		all := len(f.On)
		f.On = once(f.On)
		f.Count -= int64(all - len(f.On))
	}
	for _, all := range [][]Finding{r.Broken, r.Insecure, r.Mixed, r.Duplicates, r.Undecided, r.Untested} {
		for i := range all {
			finding(&all[i])
		}
	}
	for i := range r.Redirects {
		d := &r.Redirects[i]
		finding(&d.Finding)
		d.To = short(d.To)
		for n := range d.Via {
			d.Via[n] = short(d.Via[n])
		}
	}
}

// Outside is the reason for not testing a link to a file that is in the folder only through a symbolic link out of it.
const Outside = "a symbolic link leads out of the folder"

// LeadOut has what the folder has by such links be not tested instead of broken: whoever publishes it may follow them.
func (r *Result) LeadOut(out func(path string) bool) {
	r.Broken = slices.DeleteFunc(r.Broken, func(f Finding) bool {
		u, err := url.Parse(f.URL)
		if err != nil || f.Status != http.StatusNotFound || !out(u.EscapedPath()) {
			return false
		}
		f.Status, f.Reason = 0, Outside
		r.Untested = append(r.Untested, f)
		return true
	})
}

// once leaves out places that stand there already: one file may be the answer to several URLs.
func once(places []Place) []Place {
	met, kept := map[Place]bool{}, places[:0]
	for _, p := range places {
		if !met[p] {
			met[p] = true
			kept = append(kept, p)
		}
	}
	return kept
}
