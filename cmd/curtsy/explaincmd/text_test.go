package explaincmd

import (
	"strings"
	"testing"
	"unicode/utf8"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/explain"
)

// One of a kind is not told in the plural.
func TestOneIsNotToldInThePlural(t *testing.T) {
	var p page
	p.host(explain.Host{Known: true, Pages: 1, Failures: 1, Throttles: 2, Refusals: 1})
	if want := "host     1 page, 1 failure in a row, 2 answers of 429 or 503 in a row, 1 refusal in a row\n"; p.String() != want {
		t.Errorf("%q, want %q", p.String(), want)
	}
}

// A decision and what was asked before stand in a terminal's width, below the name of their section.
func TestProseIsBrokenWhereATerminalEnds(t *testing.T) {
	var p page
	p.prose("asked", "2026-03-01T12:00:00.000Z http://bakery.test/robots.txt: status 200, record urn:uuid:0")
	p.prose("", "%s", strings.Repeat("allow: fetched ", 12))
	want := "asked    2026-03-01T12:00:00.000Z http://bakery.test/robots.txt: status 200,\n         record urn:uuid:0\n"
	if !strings.HasPrefix(p.String(), want) {
		t.Errorf("%q, want %q", p.String(), want)
	}
	for line := range strings.Lines(p.String()) {
		if utf8.RuneCountInString(line) > text.Columns+1 {
			t.Errorf("%q", line)
		}
	}
}
