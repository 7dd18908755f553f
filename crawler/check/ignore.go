package check

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

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
