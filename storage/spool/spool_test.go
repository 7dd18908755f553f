package spool_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/scratch"
	"curtsy/storage/spool"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func TestSpool_RoundTrip(t *testing.T) {
	dir := t.TempDir()
	s := &spool.Spool{Dir: dir, Pattern: "a.*.spool"}
	all := noise(3 * spool.Memory)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, spool.Memory - 1, spool.Memory, spool.Memory + 1, spool.Memory + 32<<10, spool.Memory + 32<<10 + 1, 3 * spool.Memory} {
		for _, most := range []int{240, 5000, 100 << 10, 2 * spool.Memory} {
			want := all[:size]
			for rest := want; len(rest) > 0; {
				n := min(1+rng.IntN(most), len(rest))
				if m, err := s.Write(rest[:n]); m != n || err != nil {
					t.Fatal(m, err)
				}
				rest = rest[n:]
				at := rng.IntN(int(s.Size()))
				b := make([]byte, min(int(s.Size())-at, 10))
				if n, err := s.ReadAt(b, int64(at)); n != len(b) || err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(b, want[at:at+n]) {
					t.Fatalf("%d of %d bytes at %d of %d: %v", n, len(b), at, s.Size(), err)
				}
			}
			assert.Truef(t, s.Size() == int64(size), "size %d, want %d", s.Size(), size)
			if most == 240 && size < 2*spool.Memory { // it reads byte by byte
				assert.NoErrorf(t, iotest.TestReader(s.Section(), want), "%d bytes", size)
			}
			var b bytes.Buffer
			n, err := s.WriteTo(&b)
			assert.Truef(t, n == int64(size) && err == nil && bytes.Equal(b.Bytes(), want), "%d of %d bytes: %v", n, size, err)
			err = s.Reset()
			require.True(t, err == nil && s.Size() == 0, err)
			left, err := os.ReadDir(dir)
			require.Truef(t, err == nil && len(left) <= 0, "left: %v, %v", left, err)
		}
	}
	assert.NoError(t, s.Close())
}

func TestManyMayReadAtOnce(t *testing.T) {
	s := &spool.Spool{Dir: t.TempDir()}
	want := noise(spool.Memory + 1000)
	_, err := s.Write(want)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			got, err := io.ReadAll(s.Section())
			assert.Truef(t, err == nil && bytes.Equal(got, want), "%d bytes, %v", len(got), err)
		})
	}
	all.Wait()
	assert.NoError(t, s.Close())
}

func TestSpool_DiskOnlyBeyondMemory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	s := &spool.Spool{Dir: dir, Pattern: "x-*"}
	some := noise(spool.Memory)
	_, err := s.Write(some)
	require.NoError(t, err)
	var p *fs.PathError
	n, err := s.Write([]byte("x"))
	assert.Truef(t, n == 0 && errors.As(err, &p) && filepath.Dir(p.Path) == dir, "%d, %v", n, err)
	if n := testing.AllocsPerRun(10, func() {
		assert.NoError(t, s.Reset())
		_, err := s.Write(some)
		assert.NoError(t, err)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSpool_LargeIsNotInMemory(t *testing.T) {
	held := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	large := noise(spool.Memory)
	before := held()
	var all [64]spool.Spool
	for i := range all {
		all[i].Dir = t.TempDir()
		for range 2 {
			_, err := all[i].Write(large)
			require.NoError(t, err)
		}
	}
	n := (held() - before) / int64(len(all))
	assert.Truef(t, n <= spool.Memory/4, "%d bytes each", n)
	for i := range all {
		assert.NoError(t, all[i].Close())
	}
}
