package warc

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

// disk is a file on a disk that is full after left bytes, and may fail to sync.
type disk struct {
	file
	left    int
	syncErr error
}

func (d *disk) Write(p []byte) (int, error) {
	if len(p) <= d.left {
		d.left -= len(p)
		return d.file.Write(p)
	}
	n, err := d.file.Write(p[:d.left])
	d.left -= n
	if err == nil {
		err = syscall.ENOSPC
	}
	return n, err
}

func (d *disk) Sync() error {
	if d.syncErr != nil {
		return d.syncErr
	}
	return d.file.Sync()
}

func on(w *Writer, d *disk) *Writer {
	w.create = func(path string) (f file, err error) {
		d.file, err = create(path)
		return d, err
	}
	return w
}

func TestSyncFails(t *testing.T) {
	dir := t.TempDir()
	d := &disk{left: 1 << 20, syncErr: syscall.EIO}
	w := on(open(t, Options{Dir: dir}), d)
	write(t, w, simple(1))
	first := w.Sync(t.Context())
	require.Error(t, first, "synced")
	d.syncErr = nil
	err := w.Sync(t.Context())
	assert.Truef(t, err == first, "then %v", err)
	_, err = w.Record(t.Context(), simple(2))
	assert.Truef(t, err == first, "then %v", err)
	err = w.Close()
	assert.Truef(t, err == first, "then %v", err)
	equal(t, "files", ls(t, dir), []string{"crawl-00000.warc.gz.open"})
}

func TestSyncCounts(t *testing.T) {
	syncs := 0
	w := open(t, Options{Dir: t.TempDir()})
	w.create = func(path string) (file, error) {
		f, err := create(path)
		return counting{f, func() { syncs++ }}, err
	}
	for _, step := range []struct{ records, want int }{{0, 0}, {1, 1}, {0, 1}, {3, 2}, {0, 2}} {
		for range step.records {
			write(t, w, simple(1))
		}
		err := w.Sync(t.Context())
		require.Truef(t, err == nil && syncs == step.want, "%d syncs, want %d (%v)", syncs, step.want, err)
	}
	closing(t, w)
}

type counting struct {
	file
	sync func()
}

func (c counting) Sync() error { c.sync(); return c.file.Sync() }

func TestSync_CoversEarlierWrites(t *testing.T) {
	for name, limit := range map[string]int64{"same segment": 1 << 20, "next segment": 1} {
		t.Run(name, func(t *testing.T) {
			w := open(t, Options{Dir: t.TempDir(), SegmentSize: limit})
			var syncs []string
			w.create = func(path string) (file, error) {
				f, err := create(path)
				return counting{f, func() {
					syncs = append(syncs, filepath.Base(path)[6:11])
					if len(syncs) == 1 {
						write(t, w, simple(2))
					}
				}}, err
			}
			write(t, w, simple(1))
			for range 3 {
				require.NoError(t, w.Sync(t.Context()))
			}
			want := map[int64][]string{1 << 20: {"00000", "00000"}, 1: {"00000", "00000", "00001"}}[limit]
			equal(t, "syncs", syncs, want)
			closing(t, w)
		})
	}
}

func TestLargeBlock(t *testing.T) {
	const size = 64 << 20
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	write(t, w, simple(1)) // the compressor is made once
	r := storage.Record{URL: "http://a.test/large", Time: time.Now(), Request: []byte("GET /large HTTP/1.1\r\n\r\n")}
	r.Response = io.NewSectionReader(endless(noise(1<<20)), 0, size)
	allocated := allocation(func() { write(t, w, r) })
	closing(t, w)
	assert.Truef(t, allocated <= 2<<20, "allocated %d octets to write %d", allocated, size)
	equal(t, "files", ls(t, dir), []string{"crawl-00000.warc.gz"})

	f, err := os.Open(filepath.Join(dir, "crawl-00000.warc.gz"))
	require.NoError(t, err)
	defer f.Close()
	sum, digest := sha256.New(), ""
	allocated = allocation(func() {
		rd := NewReader(f)
		for {
			rec, err := rd.Next()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			if rec.Length == size {
				digest = rec.Fields.Get("WARC-Block-Digest")
				n, err := io.Copy(sum, rec.Block)
				require.Truef(t, n == size && err == nil, "%d octets, %v", n, err)
			}
		}
	})
	assert.Truef(t, allocated <= 2<<20, "allocated %d octets to read %d", allocated, size)
	want := sha256.New()
	_, err = io.Copy(want, r.Response)
	require.NoError(t, err)
	assert.True(t, string(sum.Sum(nil)) == string(want.Sum(nil)) && strings.HasPrefix(digest, "sha256:"), "other octets came back")
}

func TestCancelledInLargeBlock(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	write(t, w, simple(1))
	ctx, cancel := context.WithCancel(t.Context())
	r := simple(2)
	r.Response = io.NewSectionReader(cancelling{cancel, endless(noise(1 << 20))}, 0, 8<<20)
	_, err := w.Record(ctx, r)
	require.Error(t, err, "recorded")
	write(t, w, simple(3))
	closing(t, w)
	equal(t, "files", ls(t, dir), []string{"crawl-00000.warc.gz"})
	assert.Len(t, read(t, filepath.Join(dir, "crawl-00000.warc.gz")), 5, "records")
}

// cancelling cancels during the second pass, after the first has read the last byte.
type cancelling struct {
	cancel context.CancelFunc
	from   io.ReaderAt
}

func (c cancelling) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) >= 8<<20 {
		defer c.cancel()
	}
	return c.from.ReadAt(p, at)
}

type endless []byte

func (e endless) ReadAt(p []byte, at int64) (int, error) {
	for n := 0; n < len(p); {
		n += copy(p[n:], e[(at+int64(n))%int64(len(e)):])
	}
	return len(p), nil
}

func allocation(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
