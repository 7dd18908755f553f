package warc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRotationOnAFullDiskAndUnderAKillLosesNothing(t *testing.T) {
	const size, exchanges = 2500, 12
	whole := t.TempDir()
	w := open(t, Options{Dir: whole, SegmentSize: size})
	for i := range exchanges {
		write(t, w, simple(i))
	}
	closing(t, w)
	octets, segments := 0, len(ls(t, whole))
	for _, name := range ls(t, whole) {
		fi, err := os.Stat(filepath.Join(whole, name))
		require.NoError(t, err)
		octets += int(fi.Size())
	}
	require.GreaterOrEqual(t, segments, 3, "segments")
	step := 397
	if os.Getenv("CURTSY_LONG") != "" {
		step = 31
	}
	for _, killed := range []bool{false, true} {
		for left := 0; left < octets+200; left += step {
			dir := t.TempDir()
			w := on(open(t, Options{Dir: dir, SegmentSize: size}), &disk{left: left})
			var kept []string
			next := 0
			for ; next < exchanges; next++ {
				_, err := w.Record(t.Context(), simple(next))
				if err == nil {
					err = w.Sync(t.Context())
				}
				if err != nil {
					// The error stays, and names the file.
					_, again := w.Record(t.Context(), simple(next))
					assert.Containsf(t, err.Error(), filepath.Join(dir, "crawl-"), "%d left", left)
					for _, e := range []error{err, again, w.Sync(t.Context())} {
						require.ErrorIsf(t, e, syscall.ENOSPC, "%d left", left)
					}
					break
				}
				kept = append(kept, simple(next).URL)
			}
			if killed { // the next Writer finds its files; it does nothing more itself
				copied := t.TempDir()
				require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
				dir = copied
			}
			if err := w.Close(); next < exchanges {
				require.ErrorIsf(t, err, syscall.ENOSPC, "%d left: close", left)
			}
			w = open(t, Options{Dir: dir, SegmentSize: size})
			write(t, w, simple(100))
			closing(t, w)
			got := urlsIn(t, dir)
			want := append(slices.Clone(kept), simple(100).URL)
			flight := append(slices.Clone(kept), simple(next).URL, simple(100).URL)
			if !slices.Equal(got, want) && !slices.Equal(got, flight) {
				t.Fatalf("%d of %d octets left, killed %v: found %q, want %q", left, octets, killed, got, want)
			}
		}
	}
}

func urlsIn(t *testing.T, dir string) (urls []string) {
	t.Helper()
	for _, name := range ls(t, dir) {
		if !strings.HasSuffix(name, suffix) { // the number of a segment that had nothing may be left out
			t.Fatalf("%s is left open", name)
		}
		for _, e := range read(t, filepath.Join(dir, name)) {
			if e.Type == "response" {
				urls = append(urls, e.TargetURI())
			}
		}
	}
	return urls
}
