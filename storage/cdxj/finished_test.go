package cdxj

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/warc"
)

func openStore(t *testing.T, dir string) (s *Store, all *[]string) {
	t.Helper()
	all = &[]string{}
	s, err := Open(t.Context(), dir, Options{Finished: func(name string, octets int64, sum [32]byte) error {
		b, err := os.ReadFile(filepath.Join(dir, indexDir, name))
		if err != nil || int64(len(b)) != octets || sha256.Sum256(b) != sum {
			t.Errorf("%s is reported with %d octets of digest %x; it has %d (%v)", name, octets, sum, len(b), err)
		}
		*all = append(*all, name)
		return nil
	}})
	require.NoError(t, err)
	return s, all
}

func TestFinished_ReportsEachCompleteIndex(t *testing.T) {
	dir := t.TempDir()
	s, all := openStore(t, dir)
	o := warc.Options{Dir: filepath.Join(dir, warcDir), Name: "curtsy", SegmentSize: 3000, Index: s, Originals: s}
	archive := func() *warc.Writer {
		t.Helper()
		o.Index, o.Originals = s, s
		w, err := warc.Open(o)
		require.NoError(t, err)
		return w
	}
	w := archive()
	write := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			_, err := w.Record(t.Context(), page(i, "http://a.test/"+string(rune('a'+i)), string(noise(i, 900))))
			require.NoError(t, err)
		}
	}
	close := func() {
		t.Helper()
		require.NoError(t, w.Close())
		require.NoError(t, s.Close())
	}
	write(0, 9)
	close()
	files := indexes(t, dir)
	assert.Truef(t, len(files) >= 3 && slices.Equal(*all, files), "reported %v, there are %v", *all, files)
	// A kill leaves the last segment open, its index half-written.
	last := files[len(files)-1]
	segment := filepath.Join(dir, warcDir, last[:len(last)-len(suffix)]+warcSuffix)
	require.NoError(t, os.Rename(segment, segment+openSuffix))
	require.NoError(t, os.Remove(filepath.Join(dir, indexDir, last)))
	s, all = openStore(t, dir)
	w = archive()
	close()
	assert.Truef(t, slices.Equal(*all, []string{last}), "repaired: reported %v, not %s", *all, last)
	require.NoError(t, os.Remove(filepath.Join(dir, indexDir, files[0])))
	s, all = openStore(t, dir)
	w = archive()
	close()
	assert.Truef(t, slices.Equal(*all, files[:1]), "one was missing: reported %v", *all)
	was := octetsOf(t, dir)
	require.NoError(t, Rebuild(t.Context(), filepath.Join(dir, warcDir), filepath.Join(dir, indexDir), nil))
	is := octetsOf(t, dir)
	assert.True(t, slices.Equal(was, is), "a rebuild made other files")
}

func indexes(t *testing.T, dir string) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, indexDir, "*"+suffix))
	require.NoError(t, err)
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}

func octetsOf(t *testing.T, dir string) (all []string) {
	t.Helper()
	for _, name := range indexes(t, dir) {
		b, err := os.ReadFile(filepath.Join(dir, indexDir, name))
		require.NoError(t, err)
		all = append(all, string(b))
	}
	return all
}

func noise(seed, n int) []byte {
	var b []byte
	for i := 0; len(b) < n; i++ {
		sum := sha256.Sum256([]byte{byte(seed), byte(i)})
		b = append(b, sum[:]...)
	}
	return b[:n]
}
