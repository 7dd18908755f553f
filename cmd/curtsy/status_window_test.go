package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/status"
)

func TestStatusOfAStoppedCrawlNamesItsWindow(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for rule, c := range map[string]struct {
		window []string
		state  string
		now    time.Time
		want   string
	}{
		"without one there is no line":   {nil, "stopped", noon, ""},
		"a running crawl says it itself": {[]string{"22:00-06:00 UTC"}, "running", noon, ""},
		"so does one that waits":         {[]string{"22:00-06:00 UTC"}, status.OutsideWindow, noon, ""},
		"it is closed by day":            {[]string{"22:00-06:00 UTC"}, "stopped", noon, "window       22:00-06:00 UTC; closed now, opens at Tue 24 Nov 22:00 UTC\n"},
		"it is open at night":            {[]string{"22:00-06:00 UTC"}, "stopped", noon.Add(12 * time.Hour), "window       22:00-06:00 UTC; open now\n"},
	} {
		dir, s := t.TempDir(), crawldir.Defaults()
		s.Window = c.window
		b, err := s.TOML()
		require.NoError(t, errors.Join(err, os.WriteFile(filepath.Join(dir, crawldir.ConfigName), b, 0o600)))
		assert.Equal(t, c.want, windowOf(status.Status{State: c.state}, dir, c.now), rule)
	}
}
