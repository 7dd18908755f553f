package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

func numbered(i int) storage.Line {
	return storage.Line{Time: time.Unix(int64(i), 0).UTC(), URL: fmt.Sprintf("http://a.test/%d", i), Decision: "allow", Attempt: 1}
}

func open(t testing.TB, o Options) *Writer {
	t.Helper()
	w, err := Open(o)
	require.NoError(t, err)
	return w
}

func write(t testing.TB, w *Writer, ls ...storage.Line) {
	t.Helper()
	for _, l := range ls {
		require.NoError(t, w.Append(t.Context(), l))
	}
}

// abandon leaves a Writer as a kill does, once its segments are packed.
func abandon(t testing.TB, w *Writer) {
	t.Helper()
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if !closed {
		w.commits.stop()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.packer.done != nil {
		done := w.packer.done
		w.mu.Unlock()
		<-done
		w.mu.Lock()
	}
	if w.file != nil {
		require.NoError(t, w.file.Close())
	}
}

func closing(t testing.TB, w *Writer) {
	t.Helper()
	require.NoError(t, w.Close())
}

func urls(t testing.TB, dir string) (us []string) {
	t.Helper()
	for l, err := range Read(dir) {
		require.NoError(t, err)
		us = append(us, l.URL)
	}
	return us
}

func ls(t testing.TB, dir string) (names []string) {
	t.Helper()
	es, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range es {
		if strings.Contains(e.Name(), suffix) && !strings.HasPrefix(e.Name(), HostsName) {
			names = append(names, e.Name())
		}
	}
	return names
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	require.Equal(t, want, got, what)
}

func TestGoesOn(t *testing.T) {
	for _, size := range []int64{0, 1, 1500} {
		dir := filepath.Join(t.TempDir(), "made")
		var want []string
		for run := range 4 {
			w := open(t, Options{Dir: dir, SegmentSize: size})
			if file, n := w.Cut(); file != "" || n != 0 {
				t.Errorf("cut %d of %s", n, file)
			}
			for i := range 5 {
				l := numbered(run*5 + i)
				want = append(want, l.URL)
				write(t, w, l)
				require.NoError(t, w.Sync(t.Context()))
			}
			closing(t, w)
		}
		equal(t, "URLs", urls(t, dir), want)
		names := ls(t, dir)
		if wantFiles := map[int64]int{0: 1, 1: 20, 1500: 3}[size]; len(names) != wantFiles || !strings.HasPrefix(names[0], "000000.jsonl") {
			t.Errorf("segments of %d: %q", size, names)
		}
	}
}

func TestBuffered(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	write(t, w, numbered(1))
	equal(t, "files before Sync", ls(t, dir), nil)
	require.NoError(t, w.Sync(t.Context()))
	equal(t, "URLs", urls(t, dir), []string{"http://a.test/1"})
	big := numbered(2)
	big.Reason = strings.Repeat("x", bufferSize)
	write(t, w, big)
	equal(t, "URLs after a full buffer", urls(t, dir), []string{"http://a.test/1", "http://a.test/2"})
	closing(t, w)
}

func TestTornAtEveryOctet(t *testing.T) {
	text := append(appendMark(nil, &Mark{Kind: KindBegin, Schema: Schema, Origin: "curtsy/00"}), '\n')
	ends := []int{len(text)}
	for i := range 3 {
		l := numbered(i)
		text = append(l.AppendJSON(text), '\n')
		ends = append(ends, len(text))
	}
	for _, tail := range []string{"", "\x00", "\x00\x00\n\x00}\n"} {
		for n := range len(text) + 1 {
			lines := 0
			for lines < len(ends) && ends[lines] <= n {
				lines++
			}
			keep := append([]int{0}, ends...)[lines]
			torn := append(slices.Clone(text[:n]), tail...)
			if end, err := whole(bytes.NewReader(torn)); end != int64(keep) || err != nil {
				t.Fatalf("of %d octets and %q %d remain, want %d (%v)", n, tail, end, keep, err)
			}
			if n%37 != 0 && n != keep {
				continue // real files take their time
			}
			dir := t.TempDir()
			file := filepath.Join(dir, "000000.jsonl")
			require.NoError(t, os.WriteFile(file, torn, 0o644))
			w := open(t, Options{Dir: dir})
			if f, cut := w.Cut(); cut != int64(n+len(tail)-keep) || (f == file) != (cut > 0) {
				t.Fatalf("%d octets and %q: cut %d of %q", n, tail, cut, f)
			}
			write(t, w, numbered(9))
			closing(t, w)
			want := []string{"http://a.test/0", "http://a.test/1", "http://a.test/2"}[:max(lines-1, 0):max(lines-1, 0)]
			equal(t, "URLs", urls(t, dir), append(want, "http://a.test/9"))
			for m, err := range Marks(dir) {
				require.NoError(t, err)
				if m.Kind == KindRun && m.Cut != int64(n+len(tail)-keep) {
					t.Fatalf("%d octets and %q: the mark of the run records %d cut", n, tail, m.Cut)
				}
			}
		}
	}
}

func TestWhole(t *testing.T) {
	for _, at := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 200_000} {
		b := bytes.Repeat([]byte("x"), 300_000)
		b[at] = '\n'
		if end, err := whole(bytes.NewReader(b)); end != int64(at)+1 || err != nil {
			t.Errorf("newline at %d: %d, %v", at, end, err)
		}
		b[at+70_000], b[at+70_001], b[len(b)-1] = 0, '\n', '\n'
		if end, err := whole(bytes.NewReader(b)); end != int64(at)+1 || err != nil {
			t.Errorf("NUL behind %d: %d, %v", at, end, err)
		}
	}
	if _, err := whole(io.MultiReader(strings.NewReader("a\nb"), broken{})); !errors.Is(err, syscall.EIO) {
		t.Errorf("a disk that cannot be read: %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, syscall.EIO }

func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir, SegmentSize: 20_000})
	const writers, each = 64, 50
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for j := range each {
				l := numbered(i)
				l.Attempt = j + 1
				assert.NoError(t, w.Append(t.Context(), l))
				if j%25 == 0 {
					assert.NoError(t, w.Sync(t.Context()))
				}
			}
		})
	}
	wg.Wait()
	closing(t, w)
	last, n := map[string]int{}, 0
	for l, err := range Read(dir) {
		if err != nil || l.Attempt != last[l.URL]+1 {
			t.Fatalf("%+v after %d, %v", l, last[l.URL], err)
		}
		last[l.URL], n = l.Attempt, n+1
	}
	if n != writers*each || len(ls(t, dir)) < 2 {
		t.Errorf("%d lines in %d segments", n, len(ls(t, dir)))
	}
}

type disk struct {
	file
	left    int
	syncErr error
	syncs   int
	during  func() // called during a sync
}

func (d *disk) Write(p []byte) (int, error) {
	n, err := d.file.Write(p[:min(d.left, len(p))])
	if d.left -= n; err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

func (d *disk) Sync() error {
	d.syncs++
	if d.during != nil {
		d.during()
	}
	if d.syncErr != nil {
		return d.syncErr
	}
	return d.file.Sync()
}

func on(w *Writer, d *disk) *Writer {
	w.sys.create = func(path string) (f file, err error) {
		if strings.HasSuffix(path, newSuffix) {
			return create(path)
		}
		d.file, err = create(path)
		return d, err
	}
	return w
}

// After a failed write or sync the state of the disk is unknown, so there is no second try.
func TestWriter_DiskFaultIsPermanent(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*disk)
		want   error
	}{
		"a sync fails": {func(d *disk) { d.syncErr = syscall.EIO }, syscall.EIO},
		"it is full":   {func(d *disk) { d.left = 100 }, syscall.ENOSPC},
	} {
		t.Run(name, func(t *testing.T) {
			dir, d := t.TempDir(), &disk{left: 1 << 20}
			w := on(open(t, Options{Dir: dir}), d)
			write(t, w, numbered(1))
			require.NoError(t, w.Sync(t.Context()))
			c.change(d)
			write(t, w, numbered(2))
			first := w.Sync(t.Context())
			require.ErrorIs(t, first, c.want)
			assert.ErrorContains(t, first, "000000.jsonl")
			d.syncErr, d.left = nil, 1<<20
			for _, err := range []error{w.Sync(t.Context()), w.Append(t.Context(), numbered(3)), w.Close()} {
				assert.Same(t, first, err)
			}
			closing(t, open(t, Options{Dir: dir}))
			assert.Contains(t, urls(t, dir), "http://a.test/1")
		})
	}
}

func TestSyncCounts(t *testing.T) {
	d := &disk{left: 1 << 20}
	w := on(open(t, Options{Dir: t.TempDir()}), d)
	for _, step := range []struct{ lines, want int }{{0, 0}, {1, 1}, {0, 1}, {3, 2}, {0, 2}} {
		for i := range step.lines {
			write(t, w, numbered(i))
		}
		if err := w.Sync(t.Context()); err != nil || d.syncs != step.want {
			t.Fatalf("%d syncs, want %d (%v)", d.syncs, step.want, err)
		}
	}
	closing(t, w)
}

func TestSync_CoversEarlierWrites(t *testing.T) {
	for _, c := range []struct {
		name        string
		limit       int64
		syncs, want int // after the first Sync, and after two more
	}{{"same segment", 1 << 20, 1, 2}, {"next segment", 1, 2, 3}} {
		t.Run(c.name, func(t *testing.T) {
			d := &disk{left: 1 << 20}
			w := on(open(t, Options{Dir: t.TempDir(), SegmentSize: c.limit}), d)
			d.during = func() {
				d.during = nil
				l := numbered(2)
				l.Reason = strings.Repeat("x", bufferSize)
				write(t, w, l)
			}
			write(t, w, numbered(1))
			w.commits.stop() // a checkpoint syncs as well
			for i, want := range []int{c.syncs, c.want, c.want} {
				if err := w.Sync(t.Context()); err != nil || d.syncs != want {
					t.Fatalf("Sync %d: %d syncs, want %d (%v)", i, d.syncs, want, err)
				}
			}
			closing(t, w)
		})
	}
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(Options{Dir: dir, SegmentSize: -1}); err == nil {
		t.Error("took a negative size")
	}
	w := open(t, Options{Dir: dir})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, w.Append(ctx, numbered(1)), context.Canceled, "cancelled")
	assert.ErrorIs(t, w.Sync(ctx), context.Canceled, "cancelled")
	write(t, w, numbered(1))
	long := numbered(2)
	long.RobotsRule = strings.Repeat("\x00", maxLine/6+1)
	assert.Error(t, w.Append(t.Context(), long), "accepted a line that is too long")
	write(t, w, numbered(3))
	closing(t, w)
	equal(t, "URLs", urls(t, dir), []string{"http://a.test/1", "http://a.test/3"})
	for _, err := range []error{w.Append(t.Context(), numbered(4)), w.Sync(t.Context()), w.Close()} {
		assert.ErrorIs(t, err, os.ErrClosed, "closed")
	}
}

func TestBeginMarksARunBeforeItsFirstLine(t *testing.T) {
	dir, bound := t.TempDir(), strings.Repeat("0b", 32)
	w := open(t, Options{Dir: dir, Warcinfo: bound})
	require.NoError(t, w.Begin(t.Context()))
	abandon(t, w) // a kill right after it
	w = open(t, Options{Dir: dir})
	for range 2 {
		require.NoError(t, w.Begin(t.Context()))
	}
	write(t, w, numbered(1))
	closing(t, w)
	var got []string
	for e, err := range Scan(dir) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Problem != nil:
			got = append(got, string(e.Problem.Fault))
		case e.Mark != nil:
			got = append(got, e.Mark.Kind+e.Mark.Warcinfo+map[bool]string{true: " killed"}[e.Mark.Killed])
		default:
			got = append(got, "line")
		}
	}
	assert.Equal(t, []string{"begin", "run" + bound, "hosts", string(NoStop), "run killed", "hosts", "line", "stop", "hosts"}, got)
	if _, err := Open(Options{Dir: dir, Warcinfo: "0B"}); err == nil {
		t.Error("an invalid digest was accepted")
	}
}

func TestAppend_SyncsAtMaxUnsynced(t *testing.T) {
	d := &disk{left: 1 << 20}
	w := on(open(t, Options{Dir: t.TempDir()}), d)
	defer w.Close()
	for i := range 3*MaxUnsynced + 7 {
		write(t, w, numbered(i))
		l := numbered(i)
		l.Record = "urn:uuid:of-an-exchange"
		write(t, w, l)
		require.Equalf(t, (i+1)/MaxUnsynced, d.syncs, "syncs after %d exchanges", i+1)
	}
}

func TestStop_IsDatedBehindItsLines(t *testing.T) {
	dir := t.TempDir()
	late := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	for run := range 2 {
		w := open(t, Options{Dir: dir})
		if err := w.Append(t.Context(), storage.Line{Time: late, URL: "http://a.test/", Decision: "allow"}); err != nil && run == 0 {
			t.Fatal(err)
		}
		require.NoError(t, w.Close())
		late = time.Now().Add(-time.Hour).UTC() // by then the clock is right
	}
	var stops []time.Time
	for e, err := range Scan(dir) {
		require.NoError(t, err)
		require.Nil(t, e.Problem)
		if e.Mark != nil && e.Mark.Kind == KindStop {
			stops = append(stops, e.Mark.Time)
		}
	}
	if len(stops) != 2 || stops[0].Before(time.Now().Add(30*time.Minute)) || stops[1].After(time.Now()) {
		t.Errorf("stops at %v", stops)
	}
}
