package robots

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Warning is something in a robots.txt that does not do what its author may think. Text says what was ignored or how it
// was read, why, and what to write instead. Code is stable, and one of these:
//
//	bom                   the file begins with a byte order mark, which is passed over
//	utf-16                the file is in UTF-16, which few read
//	html                  the file is, or looks like, HTML
//	binary                the file looks like no text at all
//	oversize              the file goes on beyond MaxBody
//	missing-colon         a line without a colon: read if it is a field that we know and one more word
//	typo-key              a misspelled field that is read all the same, by some
//	unknown-key           a field that is passed over
//	control-octet         a value with a control octet, which makes the line invalid
//	invalid-utf8          octets that are no UTF-8, which are compared one by one
//	comment-in-value      a "#" within a value, which begins a comment
//	bad-agent             a User-agent that names nobody
//	version-in-agent      more than a product token, of which the rest is passed over
//	two-agents-on-a-line  several names, of which only the first counts
//	empty-group           a group without rules, which allows everything
//	rule-before-agent     a rule that binds nobody
//	record-before-agent   another record that binds nobody
//	delay-between-agents  a delay that is asked only of some agents of its group
//	bad-crawl-delay       a Crawl-delay that is no delay
//	bad-request-rate      a Request-rate that is no rate
//	bad-sitemap           a Sitemap that is no absolute URL
//	no-slash              a path that begins with neither "/" nor "*", and matches nothing
//	blank-in-path         a path with white space, which is read as %20
//	dollar-in-path        a "$" that is not last, and stands for itself
//	star-at-end           a last "*", which matches nothing more
//	duplicate-rule        a rule that was there before
//	contradiction         an Allow and a Disallow of one path, of which the Allow wins
//	shadowed-rule         a rule that changes no answer, because a shorter one says the same
//	more                  there are more warnings than a File keeps
type Warning struct {
	Line, Column int // from 1; columns count octets
	Code         string
	Text         string
}

// maxWarnings bounds the warnings of a File: a hostile one could have a hundred octets of warning for two of its own.
const maxWarnings = 1000

// quoted is how much of a line a warning repeats, in octets.
const quoted = 60

func (l *linter) warn(at span, code, format string, args ...any) {
	l.warnAt(l.number, l.column(at.from), code, format, args...)
}

func (l *linter) warnAt(line, column int, code, format string, args ...any) {
	if len(l.file.Warnings) == maxWarnings {
		l.more++
		return
	}
	l.file.Warnings = append(l.file.Warnings, Warning{line, column, code, fmt.Sprintf(format, args...)})
}

// finish puts the warnings into the order of the file.
func (l *linter) finish() {
	slices.SortStableFunc(l.file.Warnings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if l.more > 0 {
		l.file.Warnings = append(l.file.Warnings,
			Warning{max(l.file.Lines, 1), 1, "more", fmt.Sprintf("%d more warnings are left out: fix these first", l.more)})
	}
}

func quote(s string) string {
	if len(s) > quoted {
		return strconv.Quote(s[:quoted]) + "…"
	}
	return strconv.Quote(s)
}
