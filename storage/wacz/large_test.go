package wacz

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// sparse is a file with holes for zeros.
type sparse struct{ f *os.File }

func (s sparse) Write(p []byte) (int, error) {
	for _, c := range p {
		if c != 0 {
			return s.f.Write(p)
		}
	}
	_, err := s.f.Seek(int64(len(p)), io.SeekCurrent)
	return len(p), err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// APPNOTE 4.4.9, 4.3.9.2: from 4 GiB on, sizes and later offsets have 64 bits.
func TestZip64FromFourGibibytesOn(t *testing.T) {
	if os.Getenv("CURTSY_LONG") == "" {
		t.Skip("CURTSY_LONG is not set: it reads 9 GiB")
	}
	const size = 1<<32 + 5
	f, err := os.Create(filepath.Join(t.TempDir(), "x.wacz"))
	require.NoError(t, err)
	defer f.Close()
	m := newMeter()
	if _, err := io.CopyN(m, zeros{}, size); err != nil {
		t.Fatal(err)
	}
	b := newBundle(sparse{f}, began, t.TempDir())
	require.NoError(t, b.stored(t.Context(), "archive/a.warc.gz", m.print(), io.LimitReader(zeros{}, size)))
	if _, err := b.manifest(t.Context(), manifest{}); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, b.zip.Close())
	fi, err := f.Stat()
	require.NoError(t, err)
	z, err := zip.NewReader(f, fi.Size())
	require.NoError(t, err)
	if e := z.File[0]; e.UncompressedSize64 != size || e.Method != zip.Store {
		t.Errorf("%d octets, method %d", e.UncompressedSize64, e.Method)
	}
	if at, err := z.File[1].DataOffset(); err != nil || at < size {
		t.Errorf("the manifest is at %d, %v", at, err)
	}
	for _, e := range z.File {
		r, err := e.Open()
		require.NoError(t, err)
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}
