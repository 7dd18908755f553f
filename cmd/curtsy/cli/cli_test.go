package cli

import (
	"math"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Flags are found as written. A setting may be written as a flag, and a flag as a setting.
func TestFindKnowsFlagsAndSettings(t *testing.T) {
	for given, want := range map[string]string{
		"--level":           "--depth N",
		"-l":                "--depth N",
		"level":             "--depth N",
		"DEPTH_LIMIT":       "--depth N",
		"--depth-limit":     "--depth N",
		"depth_limit":       "--depth N",
		"download-delay":    "--delay TIME",
		"--page_count":      "",
		"CONVERT_LINKS":     "curtsy mirror",
		"-A":                "--accept LIST",
		"-R":                "--reject LIST",
		"-r":                "curtsy crawl", // small letters are other options
		"-nc":               "curtsy resume DIR",
		"-P":                "--dir DIR",
		"-p":                "--page-requisites all",
		"--LEVEL":           "",
		"l":                 "",
		"":                  "",
		"-":                 "",
		"--":                "",
		"--level=3":         "", // the caller removes the value
		"--levels":          "",
		"--download-delays": "",
	} {
		p, ok := Find(given)
		if ok != (want != "") || p.Ours != want {
			t.Errorf("%q is %q, found %v; want %q", given, p.Ours, ok, want)
		}
	}
}

func TestAPhraseNamesAFlagOrACommand(t *testing.T) {
	for _, c := range []struct {
		p          phrase
		flag, says string
	}{
		{phrase{Ours: "--scope prefix"}, "scope", "that is --scope prefix here"},
		{phrase{Ours: "--quiet", Note: "why"}, "quiet", "that is --quiet here (why)"},
		{phrase{Ours: "curtsy update DIR"}, "", "that is curtsy update DIR here"},
		{phrase{Ours: "curtsy mirror --vanished remove"}, "", "that is curtsy mirror --vanished remove here"},
	} {
		if c.p.Flag() != c.flag || c.p.String() != c.says {
			t.Errorf("%q: flag %q, %q", c.p.Ours, c.p.Flag(), c.p)
		}
	}
}

func TestAll_ReturnsACopy(t *testing.T) {
	first := All()[0].Ours
	all := All()
	all[0].Ours = "something else"
	assert.Equal(t, first, All()[0].Ours)
}

// settingsOfTheCollector returns the settings of the garbage collector.
func settingsOfTheCollector() (percent int, limit int64) {
	percent = debug.SetGCPercent(-1)
	debug.SetGCPercent(percent)
	return percent, debug.SetMemoryLimit(-1)
}

// unset removes variables from the environment for a test.
func unset(t *testing.T, names ...string) {
	for _, name := range names {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
}

func TestMemoryLimit_HoldsDuringCrawl(t *testing.T) {
	unset(t, "GOGC", "GOMEMLIMIT")
	percent, limit := settingsOfTheCollector()
	stop := Tune(1 << 30)
	if p, l := settingsOfTheCollector(); p != garbage || l != 1<<30 {
		t.Errorf("while it runs: GOGC %d, limit %d", p, l)
	}
	stop()
	if p, l := settingsOfTheCollector(); p != percent || l != limit {
		t.Errorf("after: GOGC %d, limit %d; before: %d, %d", p, l, percent, limit)
	}
}

func TestMemoryLimit_KeepsUserChoice(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		limit       int64
	}{{"GOGC", "50", 1 << 30}, {"GOMEMLIMIT", "1GiB", 1 << 30}, {"GOGC", "", 0}} {
		unset(t, "GOGC", "GOMEMLIMIT")
		if tt.value != "" {
			t.Setenv(tt.name, tt.value)
		}
		percent, limit := settingsOfTheCollector()
		stop := Tune(tt.limit)
		if p, l := settingsOfTheCollector(); p != percent || l != limit {
			t.Errorf("%s=%s, limit %d: GOGC %d, limit %d", tt.name, tt.value, tt.limit, p, l)
		}
		stop()
	}
}

// A limit below the live heap would make the collector run without end. Large pages do not raise the default.
func TestMemoryLimitDoesNotStrangle(t *testing.T) {
	for _, tt := range []struct{ asked, live, want int64 }{
		{48 << 20, 0, 48 << 20}, {48 << 20, 32 << 20, 48 << 20}, {48 << 20, 40 << 20, 60 << 20}, {1, 1 << 40, 3 << 39}, {math.MaxInt64, 1 << 40, math.MaxInt64},
	} {
		assert.Equalf(t, tt.want, room(tt.asked, tt.live), "requested %d, %d live", tt.asked, tt.live)
	}
}

// For 0.0.0.0 and :: the printed address can be opened.
func TestServe_PrintsUsableAddress(t *testing.T) {
	for listen, want := range map[string][2]string{
		"0.0.0.0:0":   {"tcp4", "127.0.0.1:8299"},
		"127.0.0.1:0": {"tcp4", "127.0.0.1:8299"},
		"[::]:0":      {"tcp", "localhost:8299"},
		"[::1]:0":     {"tcp", "[::1]:8299"},
		":0":          {"tcp", "localhost:8299"},
	} {
		assert.Equalf(t, want[0], networkOf(listen), "%s: network", listen)
		host, _, err := net.SplitHostPort(listen)
		require.NoError(t, err)
		if host == "" {
			host = "::"
		}
		at := netip.AddrPortFrom(netip.MustParseAddr(host), 8299)
		assert.Equal(t, want[1], FromHere(net.TCPAddrFromAddrPort(at)), listen)
	}
}
