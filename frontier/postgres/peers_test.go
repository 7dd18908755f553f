//go:build peers

package postgres

import (
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/frontiertest"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

// still is a timing without heartbeats: an hour of virtual time would have 7,200.
var still = timing{ttl: 1e6 * time.Hour, beat: 1e5 * time.Hour, poll: 1e5 * time.Hour, now: func() int64 { return time.Now().UnixMicro() }}

// harness makes the crawl of a directory at its first opening.
func harness(s *frontiertest.Server) frontiertest.Harness {
	type home struct {
		locator string
		dir     Dir
	}
	homes := map[string]home{}
	return frontiertest.Harness{
		Open: func(t testing.TB, dir string, o frontier.Options) frontier.Frontier {
			t.Helper()
			h, ok := homes[dir]
			if !ok {
				h.locator = s.Locator()
				rand.Read(h.dir[:])
				require.NoError(t, Create(t.Context(), Member{Locator: h.locator}, []byte("settings"), nil))
				homes[dir] = h
			}
			f, err := open(Member{Locator: h.locator, Dir: h.dir, Name: dir}, o, still)
			require.NoError(t, err)
			return f
		},
		Crash: func(_ testing.TB, f frontier.Frontier) { f.(*Frontier).kill() },
		Lacks: []string{
			"cap: a link over MaxURLs is", "cap: a link over MaxURLsPerAuthority", "cap: a link over MaxURLsPerDomain", "cap: seeds", "cap: a",
			"cap: refused", "size: near", "size: a claim", "size: when", "size: links", "size: with", "size: Drained", "depth first: ",
			"keep: ", "width: ", "wait: a shorter", "stats: outcomes", // results that keep their lease, and a width above one
			"barrier: before", "barrier: its error", "close: a commit", "close: leases", "crash: during", // Finish waits for the commit
			"restart: after an unclean stop a host with no", "restart: after an unclean stop the longer", "restart: Options.PaceOf",
			"restart: a clean stop leaves", "restart: an operator's", // the gate of a slot replaces Options.Pace
			"suspect: tasks", "suspect: with", "suspect: one", "suspect: a ", "suspect: of", "suspect: stays", "suspect: after", "suspect: the", "quarantine: ",
			"retry: U", "retry: t", "retry: a", "retry: d", "retry: h", "retry: r", "retry: o", "held: Retry",
			"park: a turn", "park: a later", "rest: a turn", "steer: durable", "steer: the same", "drop: ", "tell: ",
			"survey: shut", "survey: all",
		},
	}
}

// kill ends f as kill -9 would end its process.
func (f *Frontier) kill() {
	f.mu.Lock()
	f.closed = true
	f.broadcast()
	f.mu.Unlock()
	f.release()
}

func TestPeers_Conformance(t *testing.T) { frontiertest.Run(t, harness(frontiertest.Start(t))) }
