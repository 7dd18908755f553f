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

// Judge says what is amiss with the links of a generation of the crawl in dir; 0 is the latest. Temporary files go to temp;
// empty means the system's folder.
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
	j := &judging{told: t, fragments: newFragments(temp), findings: map[subject]*Finding{}, r: empty()}
	j.r.asked, j.r.crawled = t.isAsked, func(url string) bool { return t.isCrawled(url, generation) }
	j.r.Generation, j.r.Checked, j.r.Left = generation, t.asked, int64(len(t.rest))
	defer func() { err = errors.Join(err, j.fragments.rows.Close()) }()
	r := reader{t}
	if err := export.Visit(ctx, in, worthReading, r.read, j.take); err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	if err := j.fragments.missing(j.missing); err != nil {
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

// judging gathers what the documents mention.
type judging struct {
	told      *told
	fragments *fragments
	findings  map[subject]*Finding
	unasked   [duplicate + 1]int // findings by what they are, but for those about URLs that were asked for
	repeated  int                // places in findings behind the first of each, at most maxRepeated
	r         *Result
}

// take takes in a document.
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
			if known := j.told.amiss[m.key]; known != nil {
				known.met = true
				s.url = known.url // however it is written
			}
		}
		j.add(s, Finding{URL: s.url, Reason: m.reason, Kind: m.kind, On: m.places, Count: m.count})
	}
	return nil
}

// add adds to a finding, or makes it.
func (j *judging) add(s subject, f Finding) {
	was := j.findings[s]
	if was == nil {
		if s.what != ofLedger || !j.told.of(s.url).isAsked() {
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
		was.Kind = KindRequisite // a page lacks something without it
	}
}

// sitemapElement is the element of a sitemap that mentions a URL.
const sitemapElement = "loc"

// missing takes in a fragment without an anchor.
func (j *judging) missing(w wanted) {
	j.add(subject{fragment, w.URL}, Finding{URL: w.URL, Reason: "no element has this id or name", Kind: KindFragment, On: w.Places, Count: w.Count})
}

// unmentioned takes in what is broken though no document was seen to mention it: seeds, and what sitemaps list.
func (j *judging) unmentioned() {
	for _, s := range j.told.amiss {
		if s.met || s.kind == storage.KindRedirect || s.kind == storage.KindScript || s.verdict != broken && s.kind != storage.KindSeed {
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

// result sorts findings into where they belong. unfetched reports why a URL that the ledger lacks was not requested; nil of an
// earlier generation, whose frontier is gone.
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

// byLedger sorts in what the ledger decides of.
func (j *judging) byLedger(f *Finding, unfetched func(canon.URL, bool) (string, error)) error {
	s := j.told.of(f.URL)
	if s == nil {
		why := j.told.silence(f.URL)
		if silent[why] {
			if f.Reason = why; f.Kind == KindLink && j.told.isOutside(f.URL) {
				f.Kind = KindExternal
			}
			j.r.Broken = append(j.r.Broken, *f)
			return nil
		}
		if why == "" && j.told.isOutside(f.URL) && j.told.area == nil {
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
		if f.Kind == KindLink && j.told.isOutside(f.URL) {
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

// Ignore is a line of a file of what is not to be told.
type Ignore struct {
	Line    int    `json:"line"`
	Pattern string `json:"pattern"`
	Why     string `json:"why"`
	Matched int    `json:"matched"` // findings that it took

	re *regexp.Regexp
}

// maxComplaints is how many bad lines are told at once.
const maxComplaints = 10

// ParseIgnores reads such a file: a line has a pattern (RE2, unanchored, on the URL as it is told), white space, and why
// its findings are to be left out. Empty lines and those that begin with # say nothing. An error has the lines that are wrong.
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

// Ignore leaves out the findings that the first matching line takes, of whatever is told but for what was not tested. What
// was broken is in Ignored, with the reason of that line.
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
		kept := all[:0]
		for i := range all {
			by := first(&all[i])
			switch {
			case by == nil:
				kept = append(kept, all[i])
			case isBroken:
				r.Ignored = append(r.Ignored, Ignored{all[i], by.Why})
			}
		}
		return kept
	}
	r.Broken = rest(r.Broken, true)
	if r.Since != nil {
		r.Since.New = slices.DeleteFunc(r.Since.New, func(f Finding) bool { return first(&f) != nil })
	}
	r.Insecure, r.Mixed, r.Duplicates = rest(r.Insecure, false), rest(r.Mixed, false), rest(r.Duplicates, false)
	r.Undecided = rest(r.Undecided, false)
	kept := r.Redirects[:0]
	for i := range r.Redirects {
		if first(&r.Redirects[i].Finding) == nil {
			kept = append(kept, r.Redirects[i])
		}
	}
	r.Redirects = kept
	for _, l := range lines {
		if l.Matched == 0 {
			r.Unused = append(r.Unused, l)
		}
	}
}

// Ignored is a broken link that is left out.
type Ignored struct {
	Finding
	Why string `json:"why"`
}

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
