package explaincmd

import (
	"testing"

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
