package report_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/report"
)

// manyHosts writes the ledger of a crawl in rounds: robots.txt, two pages and a refusal for each host.
func manyHosts(t *testing.T, hosts int) report.Options {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "many")
	o := report.Options{Dir: dir, Ledger: filepath.Join(dir, "ledger"), WARC: filepath.Join(dir, "warc"), Software: "curtsy/0.1.0", Now: start}
	w, err := ledger.Open(ledger.Options{Dir: o.Ledger, SegmentSize: 16 << 20})
	require.NoError(t, err)
	for round, path := range []string{"/robots.txt", "/", "/a.html", "/private/"} {
		for i := range hosts {
			began := start.Add(time.Duration(round*hosts+i) * time.Millisecond)
			l := storage.Line{
				Time: began.Add(40 * time.Millisecond), URL: fmt.Sprintf("https://www.host-%06d.example%s", i, path), Seed: fmt.Sprintf("https://www.host-%06d.example/", i),
				Decision: "allow", Reason: "no match", RobotsGroup: fmt.Sprintf("robot %d", i), Standard: "rfc9309", Outcome: "fetched", Type: fmt.Sprintf("text/x-%d", i),
				Attempt: 1, Began: began, Took: 40 * time.Millisecond, Status: 200, Octets: 18_000, Pace: time.Second, PaceBy: "floor", Gap: time.Duration(1001+i%977) * time.Millisecond,
			}
			switch path {
			case "/robots.txt":
				l.Decision, l.Reason, l.Outcome = "robots", "", ""
			case "/private/":
				l.Decision, l.Reason, l.Outcome, l.RobotsLine, l.RobotsRule = "disallow", "disallow rule", "disallowed", 2, fmt.Sprintf("/private/%d", i)
				l.Attempt, l.Began, l.Took, l.Status = 0, time.Time{}, 0, 0
			}
			require.NoError(t, w.Append(t.Context(), l))
		}
	}
	require.NoError(t, w.Close())
	return o
}

// scales is a context that measures the live heap on some of the calls of Err.
type scales struct {
	context.Context
	every, n int
	most     uint64
}

func (s *scales) Err() error {
	if s.n++; s.n%s.every == 0 {
		s.weigh()
	}
	return s.Context.Err()
}

func (s *scales) weigh() {
	var m runtime.MemStats
	runtime.GC() // twice: the contents of a sync.Pool outlive one collection
	runtime.GC()
	runtime.ReadMemStats(&m)
	s.most = max(s.most, m.HeapAlloc)
}

// weighed returns the growth of the live heap during a report of that many hosts, with page and JSON form.
func weighed(t *testing.T, hosts int) uint64 {
	t.Helper()
	o := manyHosts(t, hosts)
	s := &scales{Context: t.Context(), every: max(hosts/2, 1)}
	s.weigh()
	before := s.most
	r, err := report.Make(s, o)
	require.NoError(t, err)
	for _, write := range []func(io.Writer) error{r.WriteHTML, r.WriteJSON} {
		require.NoError(t, write(io.Discard))
	}
	s.weigh()
	if r.Known != int64(hosts) || len(r.Hosts) > 1000 || r.Totals.Exchanges != int64(3*hosts) {
		t.Fatalf("%d hosts known, %d listed, %d exchanges", r.Known, len(r.Hosts), r.Totals.Exchanges)
	}
	return s.most - before
}

// Each host beyond the 1,000 listed costs a few bytes, for its count.
func TestAFurtherHostCostsAFewOctets(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	const few, many, each = 1000, 6000, 128
	const buffers = 512 << 10 // of a reader that is closed: whether they are collected before or after is chance
	small, large := weighed(t, few), weighed(t, many)
	t.Logf("%d hosts: %d octets; %d hosts: %d octets", few, small, many, large)
	assert.LessOrEqualf(t, large, small+each*(many-few)+buffers, "octets of heap for %d hosts, where %d hosts took %d", many, few, small)
}
