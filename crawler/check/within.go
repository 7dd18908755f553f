package check

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
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

// Outside is why a link to a file is not tested that stands in the folder by a link that leads out of it.
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
