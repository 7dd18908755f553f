package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Since is how the broken links stand to those of an earlier result.
type Since struct {
	Earlier  Earlier   `json:"compared_with"`
	New      []Finding `json:"new"`      // broken now, and not before
	Repaired []Finding `json:"repaired"` // broken before; now reachable, or no longer linked on the hosts that were crawled
	Still    int       `json:"still"`    // broken then and now
}

// Earlier is the earlier result that a result is compared with.
type Earlier string

// The earlier results. They are words of the command's JSON.
const (
	EarlierCrawl    Earlier = "the crawl before" // the generation before this one
	EarlierBaseline Earlier = "the baseline"
)

// Compare says what became of the broken links of a result that is of the generation before, unless nothing was tested. A
// URL that could not be tested now is neither repaired nor still broken.
func (r *Result) Compare(before *Result) {
	if r.Checked > 0 {
		r.Since, _ = r.since(before.Broken, EarlierCrawl)
	}
}

// tested reports whether a URL that was broken was requested now, or a page that mentioned it, or whether such a page is
// no longer there on a host that was crawled. Untold are the URLs of which nothing is known now.
func (r *Result) tested(f *Finding, untold map[string]bool) bool {
	if r.asked == nil || r.asked(f.URL) {
		return r.Checked > 0
	}
	return slices.ContainsFunc(f.On, func(p Place) bool {
		return r.asked(p.Page) || r.crawled(p.Page) && !untold[p.Page] || p.Element == sitemapElement && r.Checked > 0
	})
}

// since holds what is broken now against what was, and gives the difference and what was broken already. What a URL is
// mentioned as does not matter: a picture that was lost is lost still where it is a link.
func (r *Result) since(before []Finding, with Earlier) (s *Since, known []Finding) {
	then, now, untold := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range before {
		then[before[i].URL] = true
	}
	for i := range r.Untested {
		untold[r.Untested[i].URL] = true
	}
	for i := range r.Undecided {
		untold[r.Undecided[i].URL] = true
	}
	for i := range r.Ignored {
		untold[r.Ignored[i].URL] = true
	}
	s = &Since{Earlier: with, New: []Finding{}, Repaired: []Finding{}}
	for i := range r.Broken {
		f := r.Broken[i]
		now[f.URL] = true
		if then[f.URL] {
			known = append(known, f)
		} else {
			s.New = append(s.New, f)
		}
	}
	s.Still = len(known)
	for i := range before {
		if r.Partial || r.Left > 0 {
			break // what was not reached, or is beyond the bound, is not fixed
		}
		if f := before[i]; !now[f.URL] && !untold[f.URL] && r.tested(&f, untold) {
			now[f.URL] = true // once
			s.Repaired = append(s.Repaired, f)
		}
	}
	return s, known
}

// A Baseline is what was broken in an earlier result.
type Baseline []Finding

// Against leaves those links in Broken that the baseline has not: the others are Known.
func (r *Result) Against(b Baseline) {
	r.Since, r.Known = r.since(b, EarlierBaseline)
	r.Broken = r.Since.New
}

// ParseBaseline reads what the command printed as JSON. What was known already then is known now.
func ParseBaseline(name string, text io.Reader) (Baseline, error) {
	var was struct {
		Checked *int64     `json:"checked"`
		Broken  *[]Finding `json:"broken"`
		Known   []Finding  `json:"known"`
	}
	d := json.NewDecoder(text)
	err := d.Decode(&was)
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s is empty: write it with curtsy linkcheck --json, into another file than the one you read", name)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%s is incomplete: write it again with curtsy linkcheck --json", name)
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("%s is not JSON, at byte %d: give the output of curtsy linkcheck --json", name, syntax.Offset)
	case err == nil && d.More():
		return nil, fmt.Errorf("%s has text after its result: give the output of one curtsy linkcheck --json", name)
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) || err == nil && (was.Checked == nil || was.Broken == nil) {
		return nil, fmt.Errorf("%s is not what curtsy linkcheck --json prints: an object with checked and broken", name)
	}
	if err != nil {
		return nil, err
	}
	b := append(Baseline(*was.Broken), was.Known...)
	for i := range b {
		if strings.TrimSpace(b[i].URL) == "" {
			return nil, fmt.Errorf("%s is not what curtsy linkcheck --json prints: broken link %d has no url", name, i+1)
		}
	}
	return b, nil
}
