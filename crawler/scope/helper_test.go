package scope

import (
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

func parse(t testing.TB, raw string) canon.URL {
	t.Helper()
	u, err := canon.Parse(raw)
	require.NoError(t, err)
	return u
}

func newScope(t testing.TB, c Config, seeds ...string) *Scope {
	t.Helper()
	us := make([]canon.URL, len(seeds))
	for i, s := range seeds {
		us[i] = parse(t, s)
	}
	s, err := New(c, us)
	require.NoError(t, err)
	return s
}

// text shows a verdict as "in RULE", "out RULE" or "out for good RULE".
func text(v Verdict) string {
	switch {
	case v.In && v.Timeless:
		return "in, yet a timeless refusal: " + v.Rule
	case v.In:
		return "in " + v.Rule
	case v.Timeless:
		return "out for good " + v.Rule
	}
	return "out " + v.Rule
}

func ptr(n int) *int { return &n }
