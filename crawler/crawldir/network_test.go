package crawldir

import (
	"strings"
	"testing"

	"curtsy/crawler/fetch"
)

func TestFamilyAndLocalAddress(t *testing.T) {
	for _, c := range []struct {
		name   string
		s      Settings
		family fetch.Family
		wrong  string // part of the error
	}{
		{"nothing", Settings{}, 0, ""},
		{"IPv4", Settings{IPv4: true}, fetch.IPv4, ""},
		{"IPv6", Settings{IPv6: true}, fetch.IPv6, ""},
		{"both", Settings{IPv4: true, IPv6: true}, 0, "exclude each other"},
		{"local address", Settings{Bind: "127.0.0.1"}, fetch.IPv4, ""},
		{"mapped", Settings{Bind: "::ffff:127.0.0.1"}, fetch.IPv4, ""},
		{"a name", Settings{Bind: "localhost"}, 0, "in digits"},
		{"a network", Settings{Bind: "127.0.0.0/8"}, 0, "in digits"},
		{"with a port", Settings{Bind: "127.0.0.1:80"}, 0, "in digits"},
		{"another machine's", Settings{Bind: "192.0.2.7"}, 0, "192.0.2.7 is not an address of this machine"},
		{"the wrong family", Settings{Bind: "127.0.0.1", IPv6: true}, 0, "with only IPv6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got fetch.Config
			err := c.s.way(&got)
			switch {
			case c.wrong == "" && err != nil:
				t.Error(err)
			case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
				t.Errorf("error %v, want one with %q", err, c.wrong)
			case err == nil && got.Family != c.family:
				t.Errorf("family %v, want %v", got.Family, c.family)
			}
		})
	}
}
