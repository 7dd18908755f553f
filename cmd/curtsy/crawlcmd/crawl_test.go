package crawlcmd

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/storage/scratch"
)

func TestDefaultDirectoryIsHostAndDate(t *testing.T) {
	at := time.Date(2026, 3, 1, 23, 30, 0, 0, time.FixedZone("", -3600))
	for url, want := range map[string]string{
		"https://www.library.org/a": "www.library.org-2026-03-02", "http://127.0.0.1:8080/": "127.0.0.1-8080-2026-03-02",
		"http://[::1]:81/": "1--81-2026-03-02",
	} {
		c, err := crawldir.Seed(url, "")
		require.NoError(t, err)
		assert.Equal(t, want, defaultDir([]frontier.Candidate{c}, at), url)
	}
}

// A demo that failed keeps its crawl and prints where it is, also with --quiet.
func TestDemo_FailureNamesCrawlDirectory(t *testing.T) {
	var b strings.Builder
	o := &options{dir: t.TempDir(), quiet: true}
	if err := leave(o, false, cli.Streams{Err: &b}); err != nil || !strings.Contains(b.String(), "curtsy audit "+o.dir) {
		t.Errorf("%v: %s", err, b.String())
	}
	if _, err := os.Stat(o.dir); err != nil {
		t.Error(err)
	}
}

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }
