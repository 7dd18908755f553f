package main

import (
	"strings"
	"testing"

	"curtsy/crawler/status"
)

// One of a kind is not told in the plural.
func TestOneURLIsNotToldInThePlural(t *testing.T) {
	if got := (status.Estimate{Known: 1, Host: "h"}).String(); !strings.Contains(got, " for 1 known URL;") {
		t.Error(got)
	}
}
