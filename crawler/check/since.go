package check

// Since is how the broken links of a crawl stand to those before an update.
type Since struct {
	New    []Finding `json:"new"`    // broken now, and not before
	Mended []Finding `json:"mended"` // broken before; now in order, or linked from nowhere
	Still  int       `json:"still"`  // broken then and now
}

// Compare says what became of the broken links of a result that is of the same crawl before an update. A URL that could
// not be tested now is neither mended nor still broken.
func (r *Result) Compare(before *Result) {
	type link struct {
		url  string
		kind Kind
	}
	of := func(f *Finding) link { return link{f.URL, f.Kind} }
	then, now, untold := map[link]bool{}, map[link]bool{}, map[string]bool{}
	for i := range before.Broken {
		then[of(&before.Broken[i])] = true
	}
	for i := range r.Untested {
		untold[r.Untested[i].URL] = true
	}
	s := &Since{New: []Finding{}, Mended: []Finding{}}
	for i := range r.Broken {
		now[of(&r.Broken[i])] = true
		if then[of(&r.Broken[i])] {
			s.Still++
		} else {
			s.New = append(s.New, r.Broken[i])
		}
	}
	for i := range before.Broken {
		if f := &before.Broken[i]; !now[of(f)] && !untold[f.URL] {
			s.Mended = append(s.Mended, *f)
		}
	}
	r.Since = s
}
