package scope

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReaches_IsWhetherAPageOfTheHostMayBeIn(t *testing.T) {
	for _, tt := range []struct {
		mode     Mode
		in, away string
	}{
		{ModeHost, "http://www.h.test/x", "http://a.h.test/"},
		{ModeDomain, "http://a.h.test:81/x", "http://other.test/"},
		{ModePrefix, "https://h.test/elsewhere", "http://h.test:81/docs/"},
		{ModeSeeds, "", "http://h.test/docs/a"},
		{ModeAny, "http://other.test/", ""},
	} {
		s := newScope(t, Config{Mode: tt.mode}, "http://h.test/docs/a")
		assert.Falsef(t, tt.in != "" && !s.Reaches(parse(t, tt.in)), "%s: %s is not reached", tt.mode, tt.in)
		assert.Falsef(t, tt.away != "" && s.Reaches(parse(t, tt.away)), "%s: %s is reached", tt.mode, tt.away)
	}
}

func TestCovers_ByPlaceAndInclude(t *testing.T) {
	s := newScope(t, Config{Mode: ModePrefix, Include: []string{`\.html$`}, Requisites: RequisitesAll}, "http://h.test/docs/")
	for url, want := range map[string]bool{
		"http://h.test/docs/a.html": true, "https://www.h.test/docs/d/": false, "http://h.test/a.html": false, "http://cdn.test/docs/a.html": false,
	} {
		assert.Equal(t, want, s.Covers(parse(t, url)), url)
	}
}
