package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
		"--level=3":         "", // who asks takes the value off
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

func TestAllReturnsATableOfOnesOwn(t *testing.T) {
	first := All()[0].Ours
	all := All()
	all[0].Ours = "something else"
	assert.Equal(t, first, All()[0].Ours)
}
