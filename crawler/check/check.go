package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

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
