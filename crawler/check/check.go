package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/export"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/storage"
)

// Judge checks the links of a generation of the crawl in dir; 0 is the latest. An empty temp is the system's folder.
func Judge(ctx context.Context, temp, dir string, generation int64) (_ *Result, err error) {
	in, err := export.Open(ctx, temp, dir)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if generation == 0 {
		generation = in.Crawls[0].Generation()
	}
	s, err := crawldir.ReadSettings(dir)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	area, err := areaOf(&s)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	t, err := readLedger(ctx, in.Crawls[0], generation, area)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	j := &judging{ledger: t, fragments: newFragments(temp), findings: map[subject]*Finding{}, r: empty()}
	j.r.asked = t.isAsked
	j.r.crawled = func(url string) bool { // its host, in the generation
		u, err := canon.Parse(url)
		return err == nil && t.crawled[u.Host()] == generation
	}
	j.r.Generation, j.r.Checked, j.r.Left = generation, t.asked, int64(len(t.rest))
	defer func() { err = errors.Join(err, j.fragments.rows.Close()) }()
	r := reader{t}
	if err := export.Visit(ctx, in, worthReading, r.read, j.take); err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	err = j.fragments.missing(func(w wanted) {
		j.add(subject{fragment, w.URL}, Finding{URL: w.URL, Reason: "no element has this id or name", Kind: KindFragment, On: w.Places, Count: w.Count})
	})
	if err != nil {
		return nil, err
	}
	j.unmentioned()
	if generation != in.Crawls[0].Generation() {
		return j.result(nil)
	}
	f, err := engine.OpenReadOnly(dir)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	unfetched, err := crawldir.Unfetched(ctx, &s, f)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	return j.result(unfetched)
}

type judging struct {
	ledger    *ledgerIndex
	fragments *fragments
	findings  map[subject]*Finding
	unasked   [duplicate + 1]int // findings by kind, except for those about requested URLs
	repeated  int                // places after the first of each finding, at most maxRepeated
	r         *Result
}

func (j *judging) take(d *reading) error {
	j.r.Mentions += d.mentions
	j.r.Left += d.left
	if d.unread {
		j.r.Unread++
	} else {
		j.r.Documents++
	}
	if err := j.fragments.add(d); err != nil {
		return err
	}
	for _, s := range d.order {
		m := d.found[s]
		switch s.what {
		case fragment:
			if err := j.fragments.mention(s, m); err != nil {
				return err
			}
			continue
		case duplicate:
			s.url = d.url + "\x00" + s.url
		case ofLedger:
			if known := j.ledger.amiss[m.key]; known != nil {
				known.linked = true
				s.url = known.url // in the ledger's spelling
			}
		}
		j.add(s, Finding{URL: s.url, Reason: m.reason, Kind: m.kind, On: m.places, Count: m.count})
	}
	return nil
}

// add adds to a finding, or creates it.
func (j *judging) add(s subject, f Finding) {
	was := j.findings[s]
	if was == nil {
		if s.what != ofLedger || !j.ledger.of(s.url).isAsked() {
			if j.unasked[s.what] == maxUnasked {
				j.r.Left++
				return
			}
			j.unasked[s.what]++
		}
		was = &Finding{URL: f.URL, Reason: f.Reason, Kind: f.Kind}
		j.findings[s] = was
	}
	was.Count += f.Count
	for _, p := range f.On[:min(len(f.On), MaxPlaces-len(was.On))] {
		if len(was.On) > 0 {
			if j.repeated == maxRepeated {
				break
			}
			j.repeated++
		}
		was.On = append(was.On, p)
	}
	if f.Kind == KindRequisite {
		was.Kind = KindRequisite // the more serious one
	}
}

// sitemapElement is the element of a URL in a sitemap.
const sitemapElement = "loc"

// unmentioned adds broken URLs that no document mentions: seeds, and URLs in sitemaps.
func (j *judging) unmentioned() {
	for _, s := range j.ledger.amiss {
		if s.linked || s.kind == storage.KindRedirect || s.kind == storage.KindScript || s.verdict != broken && s.kind != storage.KindSeed {
			continue
		}
		f := Finding{URL: s.url, Kind: KindLink}
		if s.kind == storage.KindEmbed {
			f.Kind = KindRequisite
		}
		if s.via != "" {
			f.Count = 1
			p := Place{Page: s.via}
			if s.kind == storage.KindSitemap {
				p.Element = sitemapElement
			}
			f.On = []Place{p}
		}
		j.add(subject{ofLedger, s.url}, f)
	}
}

// result sorts the findings into lists. unfetched explains URLs that the ledger lacks; nil for earlier generations.
func (j *judging) result(unfetched func(canon.URL, bool) (string, error)) (*Result, error) {
	r := j.r
	for s, f := range j.findings {
		if f.On == nil {
			f.On = []Place{}
		}
		switch s.what {
		case malformed, fragment:
			r.Broken = append(r.Broken, *f)
		case insecure:
			r.Insecure = append(r.Insecure, *f)
		case mixed:
			r.Mixed = append(r.Mixed, *f)
		case duplicate:
			f.URL = f.On[0].Page
			r.Duplicates = append(r.Duplicates, *f)
		case ofLedger:
			if err := j.byLedger(f, unfetched); err != nil {
				return nil, err
			}
		}
	}
	for _, all := range [][]Finding{r.Broken, r.Insecure, r.Mixed, r.Duplicates, r.Undecided, r.Untested} {
		slices.SortFunc(all, mostFirst)
	}
	slices.SortFunc(r.Redirects, func(a, b Redirect) int { return mostFirst(a.Finding, b.Finding) })
	return r, nil
}

func mostFirst(a, b Finding) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.URL, b.URL), cmp.Compare(a.Reason, b.Reason))
}

// byLedger classifies a finding by the ledger.
func (j *judging) byLedger(f *Finding, unfetched func(canon.URL, bool) (string, error)) error {
	s := j.ledger.of(f.URL)
	if s == nil {
		why := "" // no response to robots.txt
		if u, err := canon.Parse(f.URL); err == nil {
			why = j.ledger.dead[u.Authority().Origin()]
		}
		if silent[why] {
			if f.Reason = why; f.Kind == KindLink && j.ledger.isOutside(f.URL) {
				f.Kind = KindExternal
			}
			j.r.Broken = append(j.r.Broken, *f)
			return nil
		}
		if why == "" && j.ledger.isOutside(f.URL) && j.ledger.area == nil {
			j.r.External++
			return nil
		}
		if u, err := canon.Parse(f.URL); why == "" && err == nil && unfetched != nil {
			if why, err = unfetched(u, f.Kind == KindRequisite); err != nil {
				return err
			}
		}
		f.Reason = cmp.Or(why, "not requested")
		j.r.Untested = append(j.r.Untested, *f)
		return nil
	}
	f.Status, f.Reason = s.code, s.why
	switch s.verdict {
	case broken:
		if f.Kind == KindLink && j.ledger.isOutside(f.URL) {
			f.Kind = KindExternal
		}
		j.r.Broken = append(j.r.Broken, *f)
	case moved:
		if s.forever || len(s.steps) > 0 {
			f.Reason = "redirects"
			via := s.steps
			if via == nil {
				via = []string{}
			}
			j.r.Redirects = append(j.r.Redirects, Redirect{*f, s.to, s.forever, via})
		}
	case unclear:
		j.r.Undecided = append(j.r.Undecided, *f)
	case outside:
		j.r.External++
	case untested:
		j.r.Untested = append(j.r.Untested, *f)
	}
	return nil
}

// Since compares the broken links with those of an earlier result.
type Since struct {
	Earlier  Earlier   `json:"compared_with"`
	New      []Finding `json:"new"`      // broken now, and not before
	Repaired []Finding `json:"repaired"` // broken before; now reachable, or no longer linked on the crawled hosts
	Still    int       `json:"still"`    // broken both times
}

// Earlier is a kind of earlier result, as the command's JSON names it.
type Earlier string

const (
	EarlierCrawl    Earlier = "the crawl before" // the previous generation
	EarlierBaseline Earlier = "the baseline"
)

// Compare compares the broken links with those of the previous generation, unless no URL was tested.
func (r *Result) Compare(before *Result) {
	if r.Checked > 0 {
		r.Since, _ = r.since(before.Broken, EarlierCrawl)
	}
}

// tested reports whether a broken URL, or a page with it, was requested, or a page with it is gone from a crawled host.
func (r *Result) tested(f *Finding, unresolved map[string]bool) bool {
	if r.asked == nil || r.asked(f.URL) {
		return r.Checked > 0
	}
	return slices.ContainsFunc(f.On, func(p Place) bool {
		return r.asked(p.Page) || r.crawled(p.Page) && !unresolved[p.Page] || p.Element == sitemapElement && r.Checked > 0
	})
}

// since compares the broken URLs with earlier ones, and also returns those that were broken before. The kind of a mention
// does not matter: a missing picture remains missing as a link.
func (r *Result) since(before []Finding, with Earlier) (s *Since, known []Finding) {
	then, now, unresolved := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range before {
		then[before[i].URL] = true
	}
	for _, f := range slices.Concat(r.Untested, r.Undecided) {
		unresolved[f.URL] = true
	}
	for _, f := range r.Ignored {
		unresolved[f.URL] = true
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
			break // findings not reached, or above the bound, are not repaired
		}
		if f := before[i]; !now[f.URL] && !unresolved[f.URL] && r.tested(&f, unresolved) {
			now[f.URL] = true // once
			s.Repaired = append(s.Repaired, f)
		}
	}
	return s, known
}

// A Baseline is the broken links of an earlier result.
type Baseline []Finding

// Against moves the links that the baseline has from Broken to Known.
func (r *Result) Against(b Baseline) {
	r.Since, r.Known = r.since(b, EarlierBaseline)
	r.Broken = r.Since.New
}

// ParseBaseline reads the command's JSON output. It includes the links that were known then.
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

// Ignore is a line of a file of findings to ignore.
type Ignore struct {
	Line    int    `json:"line"`
	Pattern string `json:"pattern"`
	Why     string `json:"why"`
	Matched int    `json:"matched"` // ignored findings

	re *regexp.Regexp
}

const maxComplaints = 10 // reported bad lines

// ParseIgnores reads a file of findings to ignore: each line has a pattern (RE2, unanchored, on the reported URL), white space,
// and a reason. Empty lines and lines that begin with # are skipped. The error lists the invalid lines.
func ParseIgnores(name, text string) ([]Ignore, error) {
	var all []Ignore
	var wrong []error
	complain := func(n int, format string, args ...any) {
		if len(wrong) < maxComplaints {
			wrong = append(wrong, fmt.Errorf("%s:%d: "+format, append([]any{name, n}, args...)...))
		}
	}
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		end := strings.IndexFunc(line, unicode.IsSpace)
		if end < 0 {
			complain(n, "no reason after the pattern: write PATTERN, a space, and why it is left out")
			continue
		}
		re, err := regexp.Compile(line[:end])
		if err != nil {
			complain(n, "%w; patterns are RE2, as in --exclude", err)
			continue
		}
		all = append(all, Ignore{Line: n, Pattern: line[:end], Why: strings.TrimSpace(line[end:]), re: re})
	}
	return all, errors.Join(wrong...)
}

// Ignore removes findings by the first matching line, except for untested URLs. Broken links move to Ignored.
func (r *Result) Ignore(lines []Ignore) {
	first := func(f *Finding) *Ignore {
		for i := range lines {
			if lines[i].re.MatchString(f.URL) {
				lines[i].Matched++
				return &lines[i]
			}
		}
		return nil
	}
	rest := func(all []Finding, isBroken bool) []Finding {
		return slices.DeleteFunc(all, func(f Finding) bool {
			by := first(&f)
			if by != nil && isBroken {
				r.Ignored = append(r.Ignored, Ignored{f, by.Why})
			}
			return by != nil
		})
	}
	r.Broken = rest(r.Broken, true)
	if r.Since != nil {
		r.Since.New = slices.DeleteFunc(r.Since.New, func(f Finding) bool { return first(&f) != nil })
	}
	r.Insecure, r.Mixed, r.Duplicates = rest(r.Insecure, false), rest(r.Mixed, false), rest(r.Duplicates, false)
	r.Undecided = rest(r.Undecided, false)
	r.Redirects = slices.DeleteFunc(r.Redirects, func(d Redirect) bool { return first(&d.Finding) != nil })
	for _, l := range lines {
		if l.Matched == 0 {
			r.Unused = append(r.Unused, l)
		}
	}
}

// Ignored is an ignored broken link.
type Ignored struct {
	Finding
	Why string `json:"why"`
}

// Kind is a kind of link, as the command's JSON names it.
type Kind string

const (
	KindLink      Kind = "link"      // for readers
	KindFragment  Kind = "fragment"  // a missing place in an existing page
	KindExternal  Kind = "external"  // on a host outside the check
	KindRequisite Kind = "requisite" // needed to show the page
)

// Place is the place of a mention. Its texts come from the site.
type Place struct {
	Page      string `json:"page"`
	Element   string `json:"element"`   // empty in a style sheet
	Attribute string `json:"attribute"` // in a style sheet "url", "import"
	Line      int    `json:"line"`      // from 1; 0 if unknown
	Column    int    `json:"column"`    // in characters, from 1
	Text      string `json:"text,omitempty"`
}

// Finding is a problem with a URL.
type Finding struct {
	URL    string  `json:"url"`
	Status int     `json:"status"` // 0 without a response
	Reason string  `json:"reason"`
	Kind   Kind    `json:"kind"`
	On     []Place `json:"on"`
	Count  int64   `json:"count"` // all mentions; On has the first MaxPlaces
}

// Redirect is a redirected link.
type Redirect struct {
	Finding
	To        string   `json:"to"`        // the final URL
	Permanent bool     `json:"permanent"` // all steps are, so the link should name To
	Via       []string `json:"via"`       // intermediate steps
}

// Result is the result of a check.
type Result struct {
	Generation int64 `json:"generation"` // of the crawl, from 1; 0 if unknown

	Partial bool `json:"partial,omitempty"` // the crawl was interrupted or reached no host: URLs remain untested

	Checked   int64 `json:"checked"`   // requested URLs
	Documents int64 `json:"documents"` // pages, style sheets and SVG files read
	Mentions  int64 `json:"mentions"`  // of URLs in them

	Broken     []Finding  `json:"broken"`
	Redirects  []Redirect `json:"redirects"`
	Insecure   []Finding  `json:"insecure"`      // http, although https works
	Mixed      []Finding  `json:"mixed_content"` // http requisites of https pages
	Duplicates []Finding  `json:"duplicate_ids"` // Reason is the id, URL the page
	Undecided  []Finding  `json:"undecided"`     // external links whose hosts reject robots
	Untested   []Finding  `json:"untested"`      // not requested or without a response, with the reason

	Since   *Since    `json:"since,omitempty"`          // the previous generation, or a baseline
	Known   []Finding `json:"known,omitempty"`          // broken links in the baseline
	Ignored []Ignored `json:"ignored,omitempty"`        // ignored broken links
	Unused  []Ignore  `json:"unused_ignores,omitempty"` // lines without findings

	External int64 `json:"external"`       // unrequested URLs of other hosts
	Unread   int64 `json:"unread"`         // documents without a body in the archive
	Left     int64 `json:"left,omitempty"` // findings beyond the bound

	// Whether a URL was requested, and any URL of its host; nil for a folder, whose files are all read.
	asked, crawled func(url string) bool
}

func empty() *Result {
	return &Result{
		Broken: []Finding{}, Redirects: []Redirect{}, Insecure: []Finding{}, Mixed: []Finding{}, Duplicates: []Finding{},
		Undecided: []Finding{}, Untested: []Finding{},
	}
}

// Nothing returns the result of a crawl that reached no host.
func Nothing() *Result {
	r := empty()
	r.Partial = true
	return r
}

// OverBudget counts the URLs that budgets left untested, by flag.
func (r *Result) OverBudget() map[string]int64 {
	over := map[string]int64{}
	for i := range r.Untested {
		if flag, ok := strings.CutPrefix(r.Untested[i].Reason, storage.RuleOfBudget); ok {
			over[flag]++
		}
	}
	return over
}

const (
	MaxPlaces   = 1000   // of a finding
	pagePlaces  = 20     // of a finding on one page
	maxUnasked  = 10000  // findings of a kind about unrequested URLs
	maxRepeated = 100000 // places after the first of each finding
)

// Within converts the result of a folder served at origin: URLs become paths, and pages the file names from file.
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

// LeadOut moves links to such files from Broken to Untested: the publisher may follow symbolic links.
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

// once removes repeated places: several URLs may lead to one file.
func once(places []Place) []Place {
	seen, kept := map[Place]bool{}, places[:0]
	for _, p := range places {
		if !seen[p] {
			seen[p] = true
			kept = append(kept, p)
		}
	}
	return kept
}
