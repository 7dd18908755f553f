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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
		_, err := w.Write([]byte(rec("resource", block)))
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	path = filepath.Join(t.TempDir(), "x.warc")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
	return path, second
}

func TestReadAt_NothingIsReadBehindClose(t *testing.T) {
	for _, zip := range []bool{true, false} {
		path, second := twoRecords(t, zip)
		a, closeA, err := ReadAt(path, 0)
		require.NoError(t, err)
		l, closeL, err := LenientAt(path, 0, nil)
		require.NoError(t, err)
		_, err = l.Next()
		require.NoError(t, err)
		require.NoError(t, errors.Join(closeA.Close(), closeL.Close()))
		for range 4 { // some of them have the buffers of those that were closed
			b, closeB, err := ReadAt(path, second)
			require.NoError(t, err)
			octets, err := io.ReadAll(a.Block)
			assert.Errorf(t, err, "zip %t: a closed record gives %q", zip, octets)
			rec, err := l.Next()
			assert.ErrorIsf(t, err, os.ErrClosed, "zip %t: a closed reader gives %v, %v", zip, rec, err)
			_, err = l.End()
			assert.ErrorIsf(t, err, os.ErrClosed, "zip %t: the end behind a close: %v", zip, err)
			closeL.Close()
			closeA.Close()
			octets, err = io.ReadAll(b.Block)
			assert.Truef(t, err == nil && string(octets) == "the second block", "zip %t: the second block is %q, %v", zip, octets, err)
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
		_, err = io.Copy(io.Discard, r.Block)
		require.NoError(t, err)
		f.Close()
	}
	runtime.ReadMemStats(&after)
	// The pool may lose buffers; without it a read takes more than 150 KiB.
	n := (after.TotalAlloc - before.TotalAlloc) / reads
	assert.Truef(t, n <= 80<<10, "reading a record takes %d octets", n)
}
