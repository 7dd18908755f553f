package reconcile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/ledger"
)

// While lines come a checkpoint is made every ten minutes, and one where a run begins: a kill leaves no more without one.
// A crawl that waits, and one whose clock jumps, is no other.
func TestUncovered_NoMoreThanAKillLeaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first   time.Duration   // from the beginning of the run to its first exchange
		pauses  []time.Duration // from there to each of the next
		ahead   time.Duration   // of the clock, in the last
		noBegin bool            // the run has no checkpoint
		dropped bool            // its checkpoints behind the first are taken away
		moved   time.Duration   // the last exchange is dated so much later
		goesOn  bool            // another run follows
		stops   bool
		want    string
	}{
		"soon":                             {pauses: []time.Duration{time.Second}},
		"within the interval":              {pauses: []time.Duration{9 * time.Minute}},
		"hours after the run began":        {first: 5 * time.Hour, pauses: []time.Duration{9 * time.Minute}},
		"hours apart":                      {pauses: []time.Duration{5 * time.Hour, time.Minute}},
		"an hour, one a minute":            {pauses: slices.Repeat([]time.Duration{time.Minute}, 60)},
		"the clock jumps":                  {pauses: []time.Duration{time.Minute}, moved: 5 * time.Hour, ahead: 5 * time.Hour},
		"a run follows":                    {pauses: []time.Duration{9 * time.Minute}, goesOn: true},
		"the run stops":                    {pauses: []time.Duration{5 * time.Hour}, stops: true},
		"moved":                            {pauses: []time.Duration{time.Minute}, moved: 3 * time.Hour, want: "ledger-root"},
		"moved, and a run follows":         {pauses: []time.Duration{time.Minute}, moved: 3 * time.Hour, goesOn: true, want: "ledger-root"},
		"an hour, its checkpoints dropped": {pauses: slices.Repeat([]time.Duration{time.Minute}, 60), dropped: true, want: "ledger-root"},
		"a run without a checkpoint":       {noBegin: true, pauses: []time.Duration{time.Second}, want: "ledger-root"},
		"the same, and a run follows":      {noBegin: true, pauses: []time.Duration{time.Second}, goesOn: true, want: "ledger-root"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := ledger.Options{Dir: filepath.Join(t.TempDir(), "ledger"), Signer: signer(t, "me")}
				w, err := ledger.Open(o)
				require.NoError(t, err)
				if !c.noBegin {
					err = w.Begin(t.Context())
				}
				for i, pause := range append([]time.Duration{c.first}, c.pauses...) {
					time.Sleep(pause)
					l := storage.Line{Time: time.Now(), URL: "http://a.test/", Decision: "allow", Attempt: 1, Began: time.Now()}
					if i == len(c.pauses) {
						l.Began, l.Ahead = l.Began.Add(c.moved), c.ahead
					}
					if err == nil {
						err = w.Append(t.Context(), l)
					}
				}
				if err == nil {
					err = w.Sync(t.Context())
				}
				require.NoError(t, err)
				if c.stops {
					require.NoError(t, w.Close())
				} else {
					defer w.Close()
				}
				synctest.Wait()
				killed := filepath.Join(t.TempDir(), "ledger")
				require.NoError(t, os.CopyFS(killed, os.DirFS(o.Dir)))
				o.Dir = killed
				sizes, err := ledger.Checkpoints(o.Dir)
				for i, size := range sizes {
					if i > 0 && c.dropped {
						err = errors.Join(err, os.Remove(ledger.CheckpointPath(o.Dir, size)))
					}
				}
				require.NoError(t, err)
				if c.goesOn {
					ledgerRun(t, o, "http://a.test/2")
				}
				if _, codes := vouchedFor(t, Options{Dir: o.Dir}); codes != c.want && !strings.HasPrefix(codes, c.want+" ") {
					t.Errorf("%q, want %q", codes, c.want)
				}
			})
		})
	}
}

// Behind the stop of a run nothing is asked for until the next one begins.
func TestUncovered_NoExchangeBehindTheStop(t *testing.T) {
	t.Parallel()
	u := uncovered{has: true, over: true}
	u.line(&storage.Line{Time: time.Now()}, 7) // an operator closes what is queued
	assert.Empty(t, u.wrong)
	u.line(&storage.Line{Time: time.Now(), Began: time.Now()}, 8)
	assert.Len(t, u.wrong, 1)
}
