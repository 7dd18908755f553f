package crawldir

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := in(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

// edit changes the only segment of a ledger.
func edit(t *testing.T, dir string, change func(lines [][]byte) [][]byte) {
	t.Helper()
	segment := in(dir, LedgerName+"/000000.jsonl")
	b, err := os.ReadFile(segment)
	if err == nil {
		err = os.WriteFile(segment, bytes.Join(change(bytes.SplitAfter(b, []byte("\n"))), nil), 0o600)
	}
	require.NoError(t, err)
}

// bare removes everything derived from the lines, and all checkpoints but the first few.
func bare(t *testing.T, dir string, checkpoints int) {
	t.Helper()
	book := in(dir, LedgerName)
	all, err := filepath.Glob(filepath.Join(ledger.CheckpointFolderOf(book), "*"))
	require.NoError(t, err)
	require.Greater(t, len(all), checkpoints, all)
	last := []byte(nil)
	for i, path := range all {
		if i < checkpoints {
			last, err = os.ReadFile(path)
		} else {
			err = os.Remove(path)
		}
		require.NoError(t, err)
	}
	for _, name := range []string{"tile", ledger.HostsName, ledger.CheckpointName} {
		require.NoError(t, os.RemoveAll(filepath.Join(book, name)))
	}
	if last != nil {
		require.NoError(t, os.WriteFile(filepath.Join(book, ledger.CheckpointName), last, 0o600))
	}
}

// forged changes the line of an exchange, and removes the evidence: the end of the run and its checkpoints.
func forged(t *testing.T, dir string) {
	edit(t, dir, func(lines [][]byte) [][]byte {
		for i, l := range lines {
			lines[i] = bytes.Replace(l, []byte(`"status":200`), []byte(`"status":203`), 1)
			if bytes.HasPrefix(l, []byte(`{"mark":"file"`)) {
				return lines[:i]
			}
		}
		t.Fatal("no mark of a file")
		return nil
	})
	bare(t, dir, 1)
}

// The holder of a crawl directory cannot make the operator sign changes. Lines after the kept checkpoint may be lost by a kill.
func TestResume_RequiresTheCheckpointKeptBesideTheKey(t *testing.T) {
	origin := regexp.MustCompile(`"origin":"[^"]*"`)
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		goesOn bool
	}{
		"nothing":  {goesOn: true, change: func(*testing.T, string) {}},
		"no tiles": {goesOn: true, change: func(t *testing.T, dir string) { os.RemoveAll(in(dir, LedgerName+"/tile")) }},
		"torn tail": {goesOn: true, change: func(t *testing.T, dir string) {
			edit(t, dir, func(lines [][]byte) [][]byte { return append(lines, []byte(`{"time":"2026-05-`)) })
		}},
		"no checkpoints, and all lines": {goesOn: true, change: func(t *testing.T, dir string) { bare(t, dir, 0) }},
		"the ledger is moved away":      {goesOn: true, change: func(t *testing.T, dir string) { os.RemoveAll(in(dir, LedgerName)) }},
		"a line, and its checkpoints":   {change: forged},
		"an older copy": {change: func(t *testing.T, dir string) {
			edit(t, dir, func(lines [][]byte) [][]byte { return lines[:4] })
			bare(t, dir, 1)
		}},
		"another origin": {change: func(t *testing.T, dir string) {
			edit(t, dir, func(lines [][]byte) [][]byte {
				lines[0] = origin.ReplaceAll(lines[0], []byte(`"origin":"curtsy/0123456789abcdef"`))
				return lines
			})
			bare(t, dir, 0)
		}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			dir := crawled(t, crawltest.Tree("bakery.test", 5))
			c.change(t, dir)
			for _, goOn := range []func() error{
				func() error { _, err := Run(t.Context(), dir, Options{}); return err },
				func() error {
					f, err := OpenStopped(t.Context(), dir, nil)
					if err != nil {
						return err
					}
					return f.Close()
				},
				func() error { _, err := Update(t.Context(), dir, nil, defaults()); return err },
			} {
				before, err := ledger.Origin(in(dir, LedgerName))
				require.NoError(t, err)
				err = goOn()
				assert.Truef(t, (!c.goesOn || err == nil) && (c.goesOn || errors.Is(err, ErrNotKept)), "%v", err)
				after, err := ledger.Origin(in(dir, LedgerName))
				assert.Truef(t, c.goesOn || after == before && err == nil, "the log %q became %q: %v", before, after, err)
			}
		})
	}
}

// A kill may come before the first checkpoint of a new ledger.
func TestResume_ANewLedgerNeedsNoCheckpoint(t *testing.T) {
	dir := crawled(t, crawltest.Tree("bakery.test", 5))
	require.NoError(t, os.RemoveAll(in(dir, LedgerName)))
	w, err := openLedger(dir, ledger.Options{}, false, func(n Note) { t.Error(n.Text) })
	require.NoError(t, err)
	defer w.Close()
	err = w.Append(t.Context(), storage.Line{Time: time.Now(), URL: "http://bakery.test/", Decision: storage.DecisionRefuse, Reason: "scope"})
	require.NoError(t, errors.Join(err, w.Sync(t.Context())))
	origin, err := ledger.Origin(in(dir, LedgerName))
	require.Truef(t, err == nil && origin != "", "%q, %v", origin, err)
	assert.NoError(t, requireKept(dir))
	edit(t, dir, func(lines [][]byte) [][]byte {
		lines[0] = regexp.MustCompile(`"origin":"[^"]*"`).ReplaceAll(lines[0], []byte(`"origin":"curtsy/0123456789abcdef"`))
		return lines
	})
	assert.ErrorIs(t, requireKept(dir), ErrNotKept, "another ledger in its place")
}

// Continuing the other copy would create a second history under the same name.
func TestResume_RefusesTheOlderOfTwoCopies(t *testing.T) {
	dir := crawled(t, crawltest.Tree("bakery.test", 5))
	older := copyOf(t, dir)
	for range 2 {
		require.NoError(t, one(Update(t.Context(), dir, nil, defaults())))
		ran(t, dir, Options{})
	}
	_, err := Run(t.Context(), older, Options{})
	require.Truef(t, errors.Is(err, ErrNotKept) && strings.Contains(err.Error(), dir), "%v", err)
	kept, err := KeptHead(older)
	require.NoError(t, err)
	require.NotNil(t, kept)
	if err := os.Remove(kept.File); err != nil { // as the error advises
		t.Fatal(err)
	}
	ran(t, older, Options{})
}

// An audit of such a ledger names the damage without a checkpoint.
func TestKeptHead_NilForADamagedLedger(t *testing.T) {
	dir := crawled(t, crawltest.Tree("bakery.test", 2))
	kept, err := KeptHead(dir)
	require.Truef(t, kept != nil && err == nil, "%v %v", kept, err)
	bare(t, dir, 0)
	edit(t, dir, func(lines [][]byte) [][]byte { return append([][]byte{[]byte("{\n")}, lines...) })
	kept, err = KeptHead(dir)
	assert.Truef(t, kept == nil && err == nil, "%v %v", kept, err)
}

func defaults() *Settings {
	s := Defaults()
	return &s
}
