package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
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
		"no window has no line":      {nil, "stopped", noon, ""},
		"a running crawl reports it": {[]string{"22:00-06:00 UTC"}, "running", noon, ""},
		"so does one that waits":     {[]string{"22:00-06:00 UTC"}, status.OutsideWindow, noon, ""},
		"it is closed by day":        {[]string{"22:00-06:00 UTC"}, "stopped", noon, "window       22:00-06:00 UTC; closed now, opens at Tue 24 Nov 22:00 UTC\n"},
		"it is open at night":        {[]string{"22:00-06:00 UTC"}, "stopped", noon.Add(12 * time.Hour), "window       22:00-06:00 UTC; open now\n"},
	} {
		dir, s := t.TempDir(), crawldir.Defaults()
		s.Window = c.window
		b, err := s.TOML()
		require.NoError(t, errors.Join(err, os.WriteFile(filepath.Join(dir, crawldir.ConfigName), b, 0o600)))
		assert.Equal(t, c.want, windowOf(status.Status{State: c.state}, dir, c.now), rule)
	}
}

// Another command on a stopped crawl holds its frontier; status does not take it for a crawl.
func TestStatus_ConsistentBesideOtherCommand(t *testing.T) {
	t.Parallel()
	dir := unanswered(t)
	f, err := engine.Open(inDir(dir, crawldir.FrontierName), frontier.Options{})
	require.NoError(t, err)
	defer f.Close()
	r := inside(t, "status", dir)
	r.want(t, cli.ExitFailed, "another command")
	assert.NotContains(t, r.err, "no crawl is running")
}

func TestEveryCodeOfAnAuditHasAMeaning(t *testing.T) {
	t.Parallel()
	r := &audit.Result{Level: audit.SelfConsistent, Counts: []audit.Count{{Code: finding.Gap, Found: 3}, {Code: finding.CrashInFlight, Found: 2, Notes: 2}}}
	r.Totals.Violations = 3
	r.Findings = []finding.Finding{{Code: finding.Gap, URL: "http://h.example/", Required: "1 s", Observed: "0.5 s"}}
	a := auditTold(r)
	if a.Clean || a.Violations != 3 || len(a.Findings) != 2 || !a.Findings[0].Violation || a.Findings[1].Violation || len(a.Findings[0].Samples) != 1 {
		t.Errorf("%+v", a)
	}
}

// Each line is answered before the next.
func TestRobotsBatchStreams(t *testing.T) {
	t.Parallel()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan int)
	go func() {
		ended <- run(context.Background(), []string{"robots", "check", "--batch"}, cli.Streams{In: inR, Out: outW, Err: io.Discard})
	}()
	answers := bufio.NewReader(outR)
	for i := range 3 {
		if _, err := fmt.Fprintf(inW, `{"id":%d,"robots_txt":"","agent":"bot","url":"http://bakery.test/"}`+"\n", i); err != nil {
			t.Fatal(err)
		}
		if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, fmt.Sprintf(`{"id":%d,"allow":true`, i)) {
			t.Fatalf("answer %d: %s, %v", i, line, err)
		}
	}
	inW.Close()
	assert.Equal(t, cli.ExitDone, <-ended, "exit code")
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (brokenPipe) Read([]byte) (int, error)  { return 0, io.ErrUnexpectedEOF }

func TestRobotsBatchWithoutInputOrOutput(t *testing.T) {
	t.Parallel()
	good := strings.NewReader(`{"robots_txt":"","agent":"bot","url":"http://bakery.test/"}`)
	for _, std := range []cli.Streams{{In: good, Out: brokenPipe{}, Err: io.Discard}, {In: brokenPipe{}, Out: io.Discard, Err: io.Discard}} {
		if code := run(context.Background(), []string{"robots", "check", "--batch"}, std); code != cli.ExitFailed {
			t.Errorf("exit code %d, want %d", code, cli.ExitFailed)
		}
	}
}
