package reconcile

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// What a kill may leave in the archive without a line is in a file that the mark of the killed run binds, dated behind that
// mark, and no more than is not durable or under way at once. All else is missing from the ledger.
func TestAKillLeavesNoMoreThanWasInFlight(t *testing.T) {
	const most = ledger.MaxUnsynced + usualAtOnce
	base := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	for name, c := range map[string]struct {
		n       int           // exchanges without a line
		at      time.Duration // when they begin, behind the last line
		file    string
		ended   bool
		missing int
	}{
		"one": {n: 1, at: time.Second, file: "a.warc.gz"}, "as many as may be": {n: most, at: time.Second, file: "a.warc.gz"},
		"one more":             {n: most + 1, at: time.Second, file: "a.warc.gz", missing: most + 1},
		"hours later":          {n: 1, at: 5 * time.Hour, file: "a.warc.gz"}, // a host that is left alone for long
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
			missing := 0
			for _, f := range found {
				if f.Code == finding.LedgerMissing {
					missing++
				} else if !f.Note {
					t.Errorf("%+v", f)
				}
			}
			if missing != c.missing {
				t.Errorf("%d are missing, want %d", missing, c.missing)
			}
		})
	}
}

// The warcinfo record of each file is one that the mark of a run binds, in the order of the runs; a step back of the clock is
// between two runs; and an exchange is of the same run in both.
func TestAFileIsOfTheRunWhoseMarkBindsIt(t *testing.T) {
	at := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	for name, c := range map[string]struct {
		files []string // as they say; each has an exchange, whose line is in the run of the same place
		step  int      // before which file the clock is said to have been set back
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
				w, err := ledger.Open(ledger.Options{Dir: dir, Warcinfo: infoOf([]string{"1", "2"}[i])})
				if err == nil {
					err = w.Begin(t.Context())
				}
				e, l := pair(i, at.Add(time.Duration(i)*time.Minute))
				e.File, e.Stepped = "file "+string(rune('a'+i)), i > 0 && c.step == i
				es = append(es, e)
				for _, failed := range []error{err, w.Append(t.Context(), l), w.Close()} {
					require.NoError(t, failed)
				}
			}
			w, err := Open(t.Context(), Options{Dir: dir, TempDir: t.TempDir()})
			require.NoError(t, err)
			var found []finding.Finding
			say := func(f finding.Finding) { found = append(found, f) }
			for i, e := range es {
				_ = w.Info(t.Context(), &evidence.Info{Place: finding.Place{File: e.File}, SHA256: infoOf(c.files[i])}, say)
				require.NoError(t, w.Exchange(t.Context(), e, say))
			}
			require.NoError(t, w.Close(t.Context(), &audit.Result{}, say))
			if got := codesOf(found); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// A crawl that goes on while it is audited writes what no line of the ledger told of when that was read: as much as it likes.
func TestACrawlThatRunsMayHaveMoreInFlight(t *testing.T) {
	e, l := pair(0, time.Now().Add(time.Hour).Truncate(time.Microsecond))
	dir := t.TempDir()
	book, err := ledger.Open(ledger.Options{Dir: dir, Warcinfo: infoOf(e.File)})
	require.NoError(t, err)
	defer book.Close()
	require.NoError(t, book.Begin(t.Context()))
	tell := func(l storage.Line) {
		require.NoError(t, book.Append(t.Context(), l))
		require.NoError(t, book.Sync(t.Context()))
	}
	tell(l)
	w, err := Open(t.Context(), Options{Dir: dir, TempDir: t.TempDir()})
	require.NoError(t, err)
	_ = w.Info(t.Context(), &evidence.Info{Place: e.Place, SHA256: infoOf(e.File)}, func(f finding.Finding) { t.Error(f) })
	es := []*evidence.Exchange{e}
	for i := range ledger.MaxUnsynced + usualAtOnce + 1 {
		e, l := pair(i+1, e.Began.Add(time.Second+time.Duration(i)*time.Millisecond))
		if es = append(es, e); i%100 == 0 {
			tell(l)
		}
	}
	_, found := witnessed(t, w, es...)
	if slices.ContainsFunc(found, func(f finding.Finding) bool { return !f.Note }) {
		t.Errorf("%s", codesOf(found))
	}
}

// In the first run nothing has changed since a generation before, unless the archive has files older than the ledger.
func TestChange_NeedsAnEarlierRun(t *testing.T) {
	for file, want := range map[string]string{"a.warc.gz": "ledger-lines", "older.warc.gz": ""} {
		e, l := pair(0, time.Now().Add(time.Hour).Truncate(time.Microsecond))
		l.Change = storage.ChangeUnchanged
		w, err := Open(t.Context(), Options{Dir: written(t, true, l), TempDir: t.TempDir()})
		require.NoError(t, err)
		got := ""
		say := func(f finding.Finding) {
			if f.Code == finding.LedgerLines {
				got = string(f.Code)
			}
		}
		for _, name := range []string{file, e.File} {
			_ = w.Info(t.Context(), &evidence.Info{Place: finding.Place{File: name}, SHA256: infoOf(name)}, say)
		}
		if err := w.Close(t.Context(), &audit.Result{}, say); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", file, got, err, want)
		}
	}
}
