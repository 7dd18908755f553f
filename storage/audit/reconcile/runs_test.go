package reconcile

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// life is a run of a crawl of one host: some exchanges, one a second, and how it ended.
type life struct {
	at     time.Duration // of its clock, since the bubble's beginning
	n      int           // exchanges
	lost   []int         // of those, the ones without a line
	killed bool
}

// lived writes the ledger of some runs in virtual time, and returns what the archive holds: a file for each run.
func lived(t *testing.T, lives ...life) (dir string, es []*evidence.Exchange) {
	dir = t.TempDir()
	begun := 0
	for i, one := range lives {
		next := t.TempDir()
		synctest.Test(t, func(t *testing.T) { // a bubble of its own: its clock begins anew, and can be set
			time.Sleep(one.at)
			file := fmt.Sprintf("%d.warc.gz", i)
			w, err := ledger.Open(ledger.Options{Dir: dir, Key: ed25519.NewKeyFromSeed(make([]byte, 32)), Warcinfo: infoOf(file)})
			if err == nil {
				err = w.Begin(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			for k := range one.n {
				e, l := pair(begun+k, time.Now())
				e.File = file
				e.Record = fmt.Sprintf("urn:%d-%d", i, k)
				l.Record = e.Record
				es = append(es, e)
				if !slices.Contains(one.lost, k) {
					if err := w.Append(t.Context(), l); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Second)
			}
			if one.killed {
				err = w.Sync(t.Context())
				if err == nil {
					err = os.CopyFS(next, os.DirFS(dir)) // as a killed process leaves it
				}
			}
			if err = errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
		})
		if one.killed {
			dir = next
		}
		begun += one.n
	}
	return dir, es
}

// What a kill tore off is named, however soon after another kill and whatever the clock was set to in between; what is
// missing otherwise is a violation.
func TestAKillTearsOffItsOwnRunAlone(t *testing.T) {
	const hour = time.Hour
	for name, c := range map[string]struct {
		lives  []life
		crash  int // records that are named
		absent int // records that are missing
	}{
		"two kills within seconds": {[]life{{at: 0, n: 3, lost: []int{2}, killed: true}, {at: 4 * time.Second, n: 4, killed: true}}, 1, 0},
		"three, each with a loss": {[]life{{at: 0, n: 3, lost: []int{2}, killed: true}, {at: 4 * time.Second, n: 4, lost: []int{3}, killed: true},
			{at: 9 * time.Second, n: 3, lost: []int{1, 2}, killed: true}, {at: 20 * time.Second, n: 9}}, 4, 0},
		"the clock set back an hour between": {[]life{{at: 2 * hour, n: 3, lost: []int{2}, killed: true}, {at: hour, n: 4, lost: []int{3}, killed: true}}, 2, 0},
		"set back into the run before":       {[]life{{at: 2 * hour, n: 60, lost: []int{59}, killed: true}, {at: 2*hour + 20*time.Second, n: 4}}, 1, 0},
		"killed before the first line, the clock set back into a run that ended": {[]life{{at: 2 * hour, n: 60}, {at: 2*hour + 20*time.Second, n: 2, lost: []int{0, 1}, killed: true},
			{at: 3 * hour, n: 3}}, 2, 0},
		"torn out of the middle":             {[]life{{at: 0, n: 9, lost: []int{4}, killed: true}, {at: 10 * time.Second, n: 4, killed: true}}, 0, 1},
		"too long before the kill":           {[]life{{at: 0, n: 60, lost: []int{4}, killed: true}, {at: 100 * time.Second, n: 4}}, 0, 1},
		"of a run that ended":                {[]life{{at: 0, n: 3, lost: []int{2}}, {at: 4 * time.Second, n: 4, killed: true}}, 0, 1},
		"of a run that ended, before a kill": {[]life{{at: 0, n: 3, killed: true}, {at: 4 * time.Second, n: 4, lost: []int{3}}, {at: 9 * time.Second, n: 3, killed: true}}, 0, 1},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			dir, es := lived(t, c.lives...)
			r, found := compared(t, Options{Dir: dir}, es, nil)
			absent := 0
			for _, f := range found {
				if f.Code == finding.LedgerMissing {
					absent++
				} else if !f.Note {
					t.Errorf("%+v", f)
				}
			}
			if absent != c.absent || r.Ledger.InFlight != int64(c.crash) {
				t.Errorf("%d missing, %d in flight; want %d and %d: %+v", absent, r.Ledger.InFlight, c.absent, c.crash, found)
			}
		})
	}
}

// A request that the log alone has may be of a run that was killed, and not of the time before that run.
func TestAroundAKill(t *testing.T) {
	at := func(n int) time.Time {
		return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
	}
	r := newRuns()
	r.begin(&ledger.Mark{Time: at(0)})
	r.trace(at(100))
	r.end() // in good order
	r.begin(&ledger.Mark{Time: at(110)})
	r.trace(at(115))
	r.begin(&ledger.Mark{Time: at(120)}) // the one before was killed
	r.trace(at(125))
	r.end()
	r.close()
	for n, want := range map[int]bool{90: false, 105: false, 110: true, 115: true, 119: true, 121: false, 130: false} {
		if got := r.around(at(n), at(n)); got != want {
			t.Errorf("at %d s: %v", n, got)
		}
	}
	for span, want := range map[[2]int]bool{{90, 109}: false, {90, 110}: true, {105, 130}: true, {119, 130}: true, {121, 130}: false} {
		if got := r.around(at(span[0]), at(span[1])); got != want {
			t.Errorf("from %d to %d s: %v", span[0], span[1], got)
		}
	}
}
