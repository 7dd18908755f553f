package budget

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

type measure string

const (
	pages      measure = "pages"
	errorRate  measure = "errors"
	duplicates measure = "duplicates"
	newHosts   measure = "new-hosts"
)

// Condition is one condition of --stop-when.
type Condition struct {
	text  string
	tag   string // of pages; empty for all
	what  measure
	limit int64 // pages or hosts; of a share its parts of 100,000
}

// String returns the canonical text of the condition.
func (c Condition) String() string { return c.text }

// Tag returns the tag of the condition; may be empty.
func (c Condition) Tag() string { return c.tag }

const forms = "write pages=N, tag:NAME pages=N, errors>P%, duplicates>P% or new-hosts<N"

var errForm = errors.New(forms)

func Parse(text string) (Condition, error) {
	c := Condition{}
	rest := text
	if tagged, ok := strings.CutPrefix(text, "tag:"); ok {
		at := strings.LastIndexByte(tagged, ' ')
		if at < 0 {
			return c, wrong(text, errForm)
		}
		if c.tag, rest = strings.TrimSpace(tagged[:at]), tagged[at+1:]; c.tag == "" {
			return c, wrong(text, errors.New("the tag is empty"))
		}
	}
	at := strings.IndexAny(rest, "=<>")
	if at < 0 {
		return c, wrong(text, errForm)
	}
	c.what = measure(rest[:at])
	sign, value := rest[at], rest[at+1:]
	want, ok := map[measure]byte{pages: '=', errorRate: '>', duplicates: '>', newHosts: '<'}[c.what]
	switch {
	case !ok:
		return c, wrong(text, fmt.Errorf("no measure %q: %w", rest[:at], errForm))
	case sign != want:
		return c, wrong(text, fmt.Errorf("%s goes with %c, not with %c", c.what, want, sign))
	case c.tag != "" && c.what != pages:
		return c, wrong(text, errors.New("of a tag only pages are counted"))
	}
	var err error
	if c.what == errorRate || c.what == duplicates {
		c.limit, value, err = shareOf(value)
	} else {
		c.limit, err = numberOf(value)
		value = strconv.FormatInt(c.limit, 10)
	}
	if err == nil && c.what == newHosts && c.limit > window {
		err = fmt.Errorf("the last %d pages never have more than %d new hosts: the crawl would end at once", window, window)
	}
	if err != nil {
		return c, wrong(text, err)
	}
	c.text = string(c.what) + string(sign) + value
	if c.tag != "" {
		c.text = "tag:" + c.tag + " " + c.text
	}
	return c, nil
}

func wrong(text string, err error) error { return fmt.Errorf("%q: %w", text, err) }

func numberOf(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a number from 1 on", text)
	}
	return int64(n), nil
}

// shareOf reads a percentage below 100 with up to 3 decimal places, in parts of 100,000.
func shareOf(text string) (parts int64, plain string, err error) {
	number, ok := strings.CutSuffix(text, "%")
	whole, decimals, point := strings.Cut(number, ".")
	if !ok || whole == "" || point && decimals == "" || len(decimals) > 3 || strings.Trim(whole+decimals, "0123456789") != "" {
		return 0, "", fmt.Errorf("%q: write a percentage, as 20%% or 0.5%%", text)
	}
	n, err := strconv.ParseUint(whole+(decimals + "000")[:3], 10, 62)
	if err != nil || n >= 100_000 {
		return 0, "", fmt.Errorf("%q: no share is over 100%%: the crawl would never end by it", text)
	}
	whole = strconv.FormatUint(n/1000, 10)
	if decimals = strings.TrimRight(fmt.Sprintf("%03d", n%1000), "0"); decimals != "" {
		whole += "." + decimals
	}
	return int64(n), whole + "%", nil
}

const (
	window   = 1000 // exchanges or pages that a share is of
	leastOf  = 100  // exchanges from which on a share of errors counts
	recalled = 1 << 20
)

// Answer is the result of one exchange.
type Answer struct {
	Failed bool
	Page   bool
	First  bool   // the page is the first of its host
	Text   uint64 // the digest of the text of the page; 0 with too few words
}

// Watch watches conditions in one run. Its methods may be called concurrently.
type Watch struct {
	ofTag func(tag string) int64 // the pages of a tag so far

	mu     sync.Mutex
	all    []Condition
	pages  int64
	failed ring
	copied ring
	first  ring
	texts  []uint64
}

// NewWatch returns a Watch. before are the pages of earlier runs; ofTag counts those of a tag, including the next Note.
func NewWatch(all []Condition, before int64, ofTag func(tag string) int64) *Watch {
	w := &Watch{pages: before, ofTag: ofTag}
	w.Set(all)
	return w
}

// Set sets other conditions. The window of duplicates begins with the first condition on them.
func (w *Watch) Set(all []Condition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = all
	if w.texts == nil && slices.ContainsFunc(all, func(c Condition) bool { return c.what == duplicates }) {
		w.texts, w.copied = make([]uint64, recalled), ring{}
	}
}

func (w *Watch) Note(a Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed.add(a.Failed)
	if !a.Page {
		return
	}
	w.pages++
	w.first.add(a.First)
	met := false
	if w.texts != nil && a.Text != 0 {
		place := &w.texts[a.Text>>1%recalled] // the lowest bit is set in all
		met, *place = *place == a.Text, a.Text
	}
	w.copied.add(met)
}

// Met returns the first condition that is met, or "".
func (w *Watch) Met() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.all {
		if w.isMet(c) {
			return c.text
		}
	}
	return ""
}

func (w *Watch) isMet(c Condition) bool {
	switch c.what {
	case pages:
		n := w.pages
		if c.tag != "" {
			n = w.ofTag(c.tag)
		}
		return n >= c.limit
	case errorRate:
		return w.failed.len() >= leastOf && w.failed.over(c.limit)
	case duplicates:
		return w.copied.len() == window && w.copied.over(c.limit)
	case newHosts:
		return w.first.len() == window && w.first.set < c.limit
	}
	return false
}

// ring records a property of the latest responses.
type ring struct {
	bits  [window]bool
	taken int64
	set   int64 // of bits
}

func (r *ring) add(is bool) {
	place := &r.bits[r.taken%window]
	if *place {
		r.set--
	}
	if is {
		r.set++
	}
	*place = is
	r.taken++
}

func (r *ring) len() int64 { return min(r.taken, window) }

// over reports whether more than so many parts of 100,000 are set.
func (r *ring) over(parts int64) bool { return r.set*100_000 > parts*r.len() }
