package reconcile

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
)

// life is a run of a crawl of one host: some exchanges, one a second, and how it ended.
type life struct {
	at     time.Duration // of its clock, since the bubble's beginning
	n      int           // exchanges
	lost   []int         // of those, the ones without a line
	killed bool
	fresh  bool // the operator's key was changed before it
}

// lived writes the ledger of some runs in virtual time, and returns the exchanges of the archive: a file for each run.
func lived(t *testing.T, lives ...life) (dir string, es []*evidence.Exchange) {
	dir = t.TempDir()
	n := 0
	for i, one := range lives {
		next := t.TempDir()
		synctest.Test(t, func(t *testing.T) { // a separate bubble: its clock begins again, and can be set
			time.Sleep(one.at)
			file := fmt.Sprintf("%d.warc.gz", i)
			o := ledger.Options{Dir: dir, Signer: signer(t, "me"), Warcinfo: infoOf(file)}
			if one.fresh {
				next, err := checkpoint.NewSigner(bytes.Repeat([]byte{1}, 32))
				require.NoError(t, err)
				note, err := checkpoint.Rotate(o.Signer, next, time.Now())
				require.NoError(t, err)
				o.Signer, o.Rotations = next, [][]byte{note}
			}
			w := beginRun(t, o)
			for k := range one.n {
				e, l := pair(n+k, time.Now())
				e.File = file
				e.Record = fmt.Sprintf("urn:%d-%d", i, k)
				l.Record = e.Record
				es = append(es, e)
				if !slices.Contains(one.lost, k) {
					require.NoError(t, w.Append(t.Context(), l))
				}
				time.Sleep(time.Second)
			}
			if one.killed {
				require.NoError(t, w.Sync(t.Context()))
				require.NoError(t, os.CopyFS(next, os.DirFS(dir))) // as a killed process leaves it
			}
			require.NoError(t, w.Close())
		})
		if one.killed {
			dir = next
		}
		n += one.n
	}
	return dir, es
}

// missing counts the records of no line; other findings must be notes.
func missing(t *testing.T, found []finding.Finding) (n int) {
	t.Helper()
	for _, f := range found {
		if f.Code == finding.LedgerMissing {
			n++
		} else if !f.Note {
			t.Errorf("%+v", f)
		}
	}
	return n
}

func TestRuns_KillAffectsItsRunOnly(t *testing.T) {
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
			if absent := missing(t, found); absent != c.absent || r.Ledger.InFlight != int64(c.crash) {
				t.Errorf("%d missing, %d in flight; want %d and %d: %+v", absent, r.Ledger.InFlight, c.absent, c.crash, found)
			}
		})
	}
}

func TestRuns_KeyChangeIsNotATrace(t *testing.T) {
	for name, fresh := range map[string]bool{"the same key": false, "another key": true} {
		dir, es := lived(t, life{at: 0, n: 3, killed: true}, life{at: time.Hour, n: 3, fresh: fresh})
		r, found := compared(t, Options{Dir: dir}, slices.Delete(es, 2, 3), nil)
		for _, f := range found {
			assert.Truef(t, f.Note, "%s: %+v", name, f)
		}
		assert.EqualValuesf(t, 1, r.Ledger.InFlight, "%s: %d in flight", name, r.Ledger.InFlight)
	}
}

func TestFiles_KillExcusesLastFile(t *testing.T) {
	type step = func(r *runs)
	run := func(n int) step {
		return func(r *runs) {
			r.begin(&ledger.Mark{Time: time.Unix(int64(n), 0), Warcinfo: infoOf(fmt.Sprint(n))})
		}
	}
	line := func(r *runs) { r.line(time.Unix(9, 0)) }
	stop := func(r *runs) { r.open = false }
	file := func(n int, name string) step {
		return func(r *runs) {
			r.close() // the ledger is read before the archive
			r.file(&evidence.Info{Place: finding.Place{File: name}, SHA256: infoOf(fmt.Sprint(n))})
		}
	}
	for name, c := range map[string]struct {
		steps []step
		want  bool
	}{
		"killed":                      {[]step{run(1), line, file(1, "a")}, true},
		"ended":                       {[]step{run(1), line, stop, file(1, "a")}, false},
		"killed, a file of it behind": {[]step{run(1), line, file(1, "a"), file(1, "b.open")}, false},
		"killed, and again before the first line": {[]step{run(1), line, run(2), file(1, "a")}, true},
		"killed, and again after a line":          {[]step{run(1), line, run(2), line, file(1, "a")}, false},
		"killed, and a run of nothing ended":      {[]step{run(1), line, run(2), stop, file(1, "a")}, false},
		"killed, and a file of the next run":      {[]step{run(1), line, run(2), file(1, "a"), file(2, "b")}, false},
		"of no run":                               {[]step{run(1), line, file(2, "a")}, false},
	} {
		r := newRuns()
		for _, s := range c.steps {
			s(&r)
		}
		assert.Equal(t, c.want, r.mayLackMark("a"), name)
	}
}

func TestAroundAKill(t *testing.T) {
	at := func(n int) time.Time {
		return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
	}
	r := newRuns()
	r.begin(&ledger.Mark{Time: at(0)})
	r.trace(at(100))
	r.open = false // in good order
	r.begin(&ledger.Mark{Time: at(110)})
	r.trace(at(115))
	r.begin(&ledger.Mark{Time: at(120)}) // the one before was killed
	r.trace(at(125))
	r.open = false
	r.close()
	for n, want := range map[int]bool{90: false, 105: false, 110: true, 115: true, 119: true, 121: false, 130: false} {
		assert.Equalf(t, want, r.around(at(n), at(n)), "at %d s", n)
	}
	for span, want := range map[[2]int]bool{{90, 109}: false, {90, 110}: true, {105, 130}: true, {119, 130}: true, {121, 130}: false} {
		assert.Equalf(t, want, r.around(at(span[0]), at(span[1])), "from %d to %d s", span[0], span[1])
	}
}

func TestRuns_KillLosesInFlightOnly(t *testing.T) {
	const most = ledger.MaxUnsynced + usualAtOnce
	base := soon()
	for name, c := range map[string]struct {
		n       int           // exchanges without a line
		at      time.Duration // when they begin, behind the last line
		file    string
		ended   bool
		missing int
	}{
		"one": {n: 1, at: time.Second, file: "a.warc.gz"}, "as many as may be": {n: most, at: time.Second, file: "a.warc.gz"},
		"one more":             {n: most + 1, at: time.Second, file: "a.warc.gz", missing: most + 1},
		"hours later":          {n: 1, at: 5 * time.Hour, file: "a.warc.gz"}, // a host with a long back-off
		"of a file of no run":  {n: 1, at: time.Second, file: "b.warc.gz", missing: 1},
		"before the run began": {n: 1, at: -2 * time.Hour, file: "a.warc.gz", missing: 1},
		"of a run that ended":  {n: 1, at: time.Second, file: "a.warc.gz", ended: true, missing: 1},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			e, l := pair(0, base)
			es := []*evidence.Exchange{e}
			for i := range c.n {
				e, _ := pair(i+1, base.Add(c.at+time.Duration(i)*10*time.Millisecond))
				e.File = c.file
				es = append(es, e)
			}
			_, found := compared(t, Options{Dir: written(t, !c.ended, l)}, es, nil)
			assert.Equal(t, c.missing, missing(t, found))
		})
	}
}

func TestRuns_MarkBindsFile(t *testing.T) {
	at := soon()
	for name, c := range map[string]struct {
		files []string // as recorded; each has an exchange, whose line is in the run of the same place
		step  int      // the file before which a step back of the clock is recorded
		want  string
	}{
		"two runs":                   {files: []string{"1", "2"}},
		"a step between them":        {files: []string{"1", "2"}, step: 1},
		"a file of no run":           {files: []string{"1", "3"}, want: "ledger-differs"},
		"turned round":               {files: []string{"2", "1"}, want: "ledger-differs ledger-differs ledger-differs"},
		"of another run":             {files: []string{"1", "1"}, want: "ledger-differs"},
		"of another run, and a step": {files: []string{"1", "1"}, step: 1, want: "ledger-differs ledger-differs"},
		"of no run, and a step":      {files: []string{"1", "3"}, step: 1, want: "ledger-differs ledger-differs"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			dir := t.TempDir()
			var es []*evidence.Exchange
			for i := range c.files {
				w := beginRun(t, ledger.Options{Dir: dir, Warcinfo: infoOf([]string{"1", "2"}[i])})
				e, l := pair(i, at.Add(time.Duration(i)*time.Minute))
				e.File, e.Stepped = "file "+string(rune('a'+i)), i > 0 && c.step == i
				es = append(es, e)
				require.NoError(t, w.Append(t.Context(), l))
				require.NoError(t, w.Close())
			}
			w := witness(t, Options{Dir: dir})
			var found []finding.Finding
			report := func(f finding.Finding) { found = append(found, f) }
			for i, e := range es {
				_ = w.Info(t.Context(), &evidence.Info{Place: finding.Place{File: e.File}, SHA256: infoOf(c.files[i])}, report)
				require.NoError(t, w.Exchange(t.Context(), e, report))
			}
			require.NoError(t, w.Close(t.Context(), &audit.Result{}, report))
			assert.Equal(t, c.want, codesOf(found))
		})
	}
}

func TestACrawlThatRunsMayHaveMoreInFlight(t *testing.T) {
	e, l := pair(0, soon())
	dir := t.TempDir()
	book := beginRun(t, ledger.Options{Dir: dir, Warcinfo: infoOf(e.File)})
	defer book.Close()
	line := func(l storage.Line) {
		require.NoError(t, book.Append(t.Context(), l))
		require.NoError(t, book.Sync(t.Context()))
	}
	line(l)
	w := witness(t, Options{Dir: dir})
	inform(t, w, e.File)
	es := []*evidence.Exchange{e}
	for i := range ledger.MaxUnsynced + usualAtOnce + 1 {
		e, l := pair(i+1, e.Began.Add(time.Second+time.Duration(i)*time.Millisecond))
		if es = append(es, e); i%100 == 0 {
			line(l)
		}
	}
	_, found := witnessed(t, w, es...)
	assert.Zero(t, missing(t, found))
}

func TestChange_NeedsAnEarlierRun(t *testing.T) {
	for file, want := range map[string]string{"a.warc.gz": "ledger-lines", "older.warc.gz": ""} {
		e, l := pair(0, soon())
		l.Change = storage.ChangeUnchanged
		w := witness(t, Options{Dir: written(t, true, l)})
		got := ""
		report := func(f finding.Finding) {
			if f.Code == finding.LedgerLines {
				got = string(f.Code)
			}
		}
		for _, name := range []string{file, e.File} {
			_ = w.Info(t.Context(), &evidence.Info{Place: finding.Place{File: name}, SHA256: infoOf(name)}, report)
		}
		err := w.Close(t.Context(), &audit.Result{}, report)
		assert.Truef(t, err == nil && got == want, "%s: %q, %v; want %q", file, got, err, want)
	}
}
