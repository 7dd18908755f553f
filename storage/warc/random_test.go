package warc

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
)

// twoRecords writes a file of two records, compressed or plain, and returns where the second begins.
func twoRecords(t testing.TB, zip bool) (path string, second int64) {
	t.Helper()
	var file bytes.Buffer
	for _, block := range []string{"the first block", "the second block"} {
		second = int64(file.Len())
		if !zip {
			file.WriteString(rec("resource", block))
			continue
		}
		w := gzip.NewWriter(&file)
		if _, err := w.Write([]byte(rec("resource", block))); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, w.Close())
	}
	path = filepath.Join(t.TempDir(), "x.warc")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
	return path, second
}

// What was closed gives nothing more, above all nothing of the reader that has its buffers now.
func TestReadAt_NothingIsReadBehindClose(t *testing.T) {
	for _, zip := range []bool{true, false} {
		path, second := twoRecords(t, zip)
		a, closeA, err := ReadAt(path, 0)
		require.NoError(t, err)
		l, closeL, err := LenientAt(path, 0, nil)
		require.NoError(t, err)
		if _, err := l.Next(); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, errors.Join(closeA.Close(), closeL.Close()))
		for range 4 { // some of them have the buffers of those that were closed
			b, closeB, err := ReadAt(path, second)
			require.NoError(t, err)
			if octets, err := io.ReadAll(a.Block); err == nil {
				t.Errorf("zip %t: a closed record gives %q", zip, octets)
			}
			if rec, err := l.Next(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("zip %t: a closed reader gives %v, %v", zip, rec, err)
			}
			if _, err := l.End(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("zip %t: the end behind a close: %v", zip, err)
			}
			closeL.Close()
			closeA.Close()
			if octets, err := io.ReadAll(b.Block); err != nil || string(octets) != "the second block" {
				t.Errorf("zip %t: the second block is %q, %v", zip, octets, err)
			}
			closeB.Close()
		}
	}
}

func TestReadAt_TakesLittleMemory(t *testing.T) {
	path, second := twoRecords(t, true)
	const reads = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range reads {
		r, f, err := ReadAt(path, second)
		require.NoError(t, err)
		if _, err := io.Copy(io.Discard, r.Block); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	runtime.ReadMemStats(&after)
	// A pool may lose some; without one it is more than 150 KiB.
	if n := (after.TotalAlloc - before.TotalAlloc) / reads; n > 80<<10 {
		t.Errorf("reading a record takes %d octets", n)
	}
}
