package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

var errKilled = errors.New("killed")

// dying is a system that stops after left steps: of a write that is its last, half reaches the disk.
type dying struct {
	mu   sync.Mutex
	left int
	died bool
}

func (d *dying) then(do func() error) error {
	if err := d.step(); err != nil {
		return err
	}
	return do()
}

func (d *dying) step() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left--; d.left < 0 {
		d.died = true
		return errKilled
	}
	return nil
}

func (d *dying) system() system {
	return system{
		create: func(path string) (file, error) {
			if err := d.step(); err != nil {
				return nil, err
			}
			f, err := create(path)
			return &dyingFile{f, d}, err
		},
		rename:  func(from, to string) error { return d.then(func() error { return os.Rename(from, to) }) },
		remove:  func(path string) error { return d.then(func() error { return os.Remove(path) }) },
		syncDir: func(string) error { return d.step() },
		keep: func(path string, b []byte) error { // atomic, as durable.WriteFile is
			return d.then(func() error { return os.WriteFile(path, b, 0o644) })
		},
		write: func(path string, content func(io.Writer) error) error {
			var b bytes.Buffer
			if err := content(&b); err != nil {
				return err
			}
			d.mu.Lock()
			was := d.died
			d.mu.Unlock()
			if err := d.step(); err != nil {
				if !was {
					_ = os.WriteFile(path, b.Bytes()[:b.Len()/2], 0o644)
				}
				return err
			}
			return os.WriteFile(path, b.Bytes(), 0o644)
		},
	}
}

type dyingFile struct {
	file
	d *dying
}

func (f *dyingFile) Write(p []byte) (int, error) {
	f.d.mu.Lock()
	was := f.d.died
	f.d.mu.Unlock()
	if err := f.d.step(); err != nil {
		if was {
			return 0, err
		}
		n, _ := f.file.Write(p[:len(p)/2])
		return n, err
	}
	return f.file.Write(p)
}

func (f *dyingFile) Sync() error { return f.d.then(f.file.Sync) }

func onlyAfterKill(t *testing.T, what, dir string, allowed ...Fault) {
	t.Helper()
	problems, _ := scanned(t, dir)
	for _, p := range problems {
		require.Containsf(t, allowed, p.Fault, "%s: %v", what, p)
	}
}

func TestKilledAtEveryStep(t *testing.T) {
	for _, c := range []struct {
		size int64
		next *checkpoint.Signer // of the Writers after the kill
	}{{900, testKey(1)}, {1 << 20, testKey(1)}, {1 << 20, testKey(2)}, {1 << 20, nil}} {
		for left := 0; ; left++ {
			size, another := c.size, c.next.Key() != testKey(1).Key()
			dir, d := t.TempDir(), &dying{left: left}
			w := open(t, Options{Dir: dir, SegmentSize: size, Signer: testKey(1)})
			write(t, w, numbered(100), numbered(101))
			closing(t, w)
			all := []string{"http://a.test/100", "http://a.test/101"}
			synced := len(all)
			w, err := openOn(Options{Dir: dir, SegmentSize: size, Signer: testKey(1)}, d.system())
			switch {
			case errors.Is(err, errKilled):
			case err != nil:
				t.Fatal(err)
			default:
				_ = w.Begin(t.Context())
				for i := range 6 {
					l := numbered(i)
					if err := w.Append(t.Context(), l); err != nil {
						break
					}
					all = append(all, l.URL)
					if w.Sync(t.Context()) == nil {
						synced = len(all)
					}
					if i == 3 {
						_ = w.Commit(t.Context())
					}
				}
				_ = w.Close()
				abandon(t, w)
			}
			what := fmt.Sprintf("segments of %d, killed at step %d, another key after it: %t", size, left, another)
			onlyAfterKill(t, what, dir, NoStop, Uncommitted, Torn, NoLines)
			got := urls(t, dir)
			if len(got) < synced || !slices.Equal(got, all[:len(got)]) {
				t.Fatalf("%s: %q of %q, %d synced", what, got, all, synced)
			}
			allowed := []Fault{NoStop}
			if another {
				allowed = append(allowed, KeyChanged)
				w = open(t, Options{Dir: dir, SegmentSize: size, Signer: c.next}) // as a command that changes nothing does
				closing(t, w)
				onlyAfterKill(t, what+" and opened", dir, append(allowed, Uncommitted)...)
				if left%2 == 0 {
					w = open(t, Options{Dir: dir, SegmentSize: size, Signer: c.next})
					require.NoError(t, w.Operator(t.Context(), Operator{Act: ActPause}))
					closing(t, w)
					onlyAfterKill(t, what+" and noted", dir, allowed...)
				}
			}
			w = open(t, Options{Dir: dir, SegmentSize: size, Signer: c.next})
			if r := w.Repairs(); len(r) > 0 && !d.died {
				t.Fatalf("%s: repaired %q", what, r)
			}
			write(t, w, numbered(9))
			closing(t, w)
			onlyAfterKill(t, what+" and gone on", dir, allowed...)
			equal(t, what, urls(t, dir), append(got, "http://a.test/9"))
			eachMapHasItsCheckpoint(t, what, dir, another)
			names := ls(t, dir)
			for i, name := range names {
				if strings.HasSuffix(name, packedSuffix) == (i == len(names)-1) || strings.HasSuffix(name, newSuffix) {
					t.Fatalf("%s: files %q", what, names)
				}
			}
			if !d.died {
				require.GreaterOrEqualf(t, left, 20, "only %d steps", left)
				break
			}
		}
	}
}

// A kill between the mark of a map and its checkpoint is repaired by the next Writer; with another key only a run can follow.
func eachMapHasItsCheckpoint(t *testing.T, what, dir string, another bool) {
	t.Helper()
	bare := int64(-1)
	sizes, err := Checkpoints(dir)
	require.NoError(t, err)
	for e, err := range Scan(dir) {
		require.NoError(t, err)
		if e.Mark == nil {
			continue
		}
		switch {
		case e.Mark.Kind == KindRun && another:
			bare = -1
		case e.Mark.Kind == KindHosts && !slices.Contains(sizes, e.Index+1):
			bare = e.Index
		}
		if bare >= 0 && (!another || e.Index > bare) {
			t.Fatalf("%s: the map at entry %d has no checkpoint among %d", what, bare, sizes)
		}
	}
}

func TestPacking_InterruptedAtEveryStep(t *testing.T) {
	dir := newLedger(t, testKey(1), 1, 1)
	unpacked(t, dir)
	_, want := scanned(t, dir)
	for left := 0; ; left++ {
		d := &dying{left: left}
		err := packSegment(d.system(), dir, 0)
		problems, got := scanned(t, dir)
		if len(problems) > 0 || !slices.Equal(got, want) {
			t.Fatalf("broken off at step %d: %v %q", left, problems, got)
		}
		if !d.died {
			require.NoError(t, err)
			require.GreaterOrEqualf(t, left, 6, "%d steps, %v", left, err)
			break
		}
		require.ErrorIsf(t, err, errKilled, "step %d", left)
		if _, err := os.Stat(path(dir, 0)); err != nil {
			unpacked(t, dir)
		}
	}
	if names := ls(t, dir); names[0] != "000000.jsonl.zst" || names[1] != "000001.jsonl" {
		t.Errorf("%q", names)
	}
}
