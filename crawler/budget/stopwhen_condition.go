package budget

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// measure is what a condition looks at.
type measure string

const (
	pages      measure = "pages"
	errorRate  measure = "errors"
	duplicates measure = "duplicates"
	newHosts   measure = "new-hosts"
)

// Condition is one condition, as Parse reads it.
type Condition struct {
	text  string
	tag   string // of pages; empty for all
	what  measure
	limit int64 // pages or hosts; of a share its parts of 100,000
}

// String is the condition as it is written: the same for those that mean the same.
func (c Condition) String() string { return c.text }

// Tag is the tag whose pages the condition counts; empty for none.
func (c Condition) Tag() string { return c.tag }

const forms = "write pages=N, tag:NAME pages=N, errors>P%, duplicates>P% or new-hosts<N"

var errForm = errors.New(forms)

// Parse reads a condition.
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
