package status

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/host"
	"curtsy/frontier"
)

func TestRule10_HostsShareTheStartsAtTheirAddress(t *testing.T) {
	addr := host.Network(netip.MustParseAddr("192.0.2.1"))
	const s = time.Second
	for name, c := range map[string]struct {
		paces []time.Duration
		want  time.Duration // 0: the paces leave starts over
	}{
		"only one":               {[]time.Duration{s}, 0},
		"two fit":                {[]time.Duration{s, s}, 0},
		"three do not":           {[]time.Duration{s, s, s}, 1500 * time.Millisecond},
		"fifty":                  {repeated(s, 50), 25 * s},
		"slow ones leave theirs": {append(repeated(s, 3), repeated(10*s, 5)...), 2 * s},
		"all slow":               {repeated(30*s, 60), 0},
		"slow ones do not fit":   {repeated(30*s, 61), 30500 * time.Millisecond},
		"no own delay":           {[]time.Duration{0}, s / 2},
	} {
		all := newSharing(s / 2)
		for _, p := range c.paces {
			all.add(addr, 1, p)
		}
		assert.Equal(t, c.want, all.pause(addr), name)
		starts := 0.0 // a second
		for _, p := range c.paces {
			starts += 1 / max(p, all.pause(addr)).Seconds()
		}
		full := math.Abs(starts-2) < 1e-6
		assert.Truef(t, starts <= 2+1e-6 && (c.want <= 0 || full), "%s: %v starts a second", name, starts)
	}
}

func repeated(d time.Duration, n int) (all []time.Duration) {
	for range n {
		all = append(all, d)
	}
	return all
}

// A budget bounds a crawl of unknown size, unless the known URLs already exceed it.
func TestForecast_BudgetOfUnknownSizeIsABound(t *testing.T) {
	l := NewLive(nil, Settings{Workers: 1, Budget: Budget{MaxTime: 90 * time.Minute}})
	for likely, want := range map[float64]string{1: "at most 1 h 30 min left, by --max-time", 1e6: "about 1 h 30 min left, by --max-time"} {
		f, e := forecast{parts: []part{{turn: 1, likely: likely, open: true}}}, Estimate{}
		l.foretell(&f, frontier.Stats{}, &e)
		left, more := e.RestText()
		assert.Truef(t, left+more == want, "%v requests are known: %q, want %q", likely, left+more, want)
	}
}
