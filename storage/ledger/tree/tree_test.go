package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"
)

// stored is a tree as package tlog keeps it: the oracle.
type stored []tlog.Hash

func (s stored) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		out[i] = s[x]
	}
	return out, nil
}

func leaf(i int64) tlog.Hash { return EntryHash(fmt.Appendf(nil, "entry %d", i)) }

func oracle(t testing.TB, n int64) stored {
	var s stored
	for i := range n {
		more, err := tlog.StoredHashesForRecordHash(i, leaf(i), s)
		require.NoError(t, err)
		s = append(s, more...)
	}
	return s
}

func root(t testing.TB, s stored, n int64) tlog.Hash {
	h, err := tlog.TreeHash(n, s)
	require.NoError(t, err)
	return h
}

func TestGrowingHasTheRootOfEachSize(t *testing.T) {
	const n = 600
	s := oracle(t, n)
	var g Growing
	for i := range int64(n) {
		if g.Size() != i || g.Root() != root(t, s, i) {
			t.Fatalf("size %d: root %v, want %v", i, g.Root(), root(t, s, i))
		}
		resumed, err := Resume(s, i)
		if err != nil || !slices.Equal(resumed.edge, g.edge) {
			t.Fatalf("size %d: resumed %v, %v", i, resumed, err)
		}
		g.Append(leaf(i))
	}
}

func TestManyEntriesAreProvenAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := oracle(t, 700)
	for range 400 {
		size := r.Int64N(700)
		var indexes []int64
		var hashes []tlog.Hash
		for i := range size {
			if r.IntN(1+int(size)/8) == 0 {
				indexes, hashes = append(indexes, i), append(hashes, leaf(i))
			}
		}
		of := root(t, s, size)
		p, err := ProveMany(s, size, indexes)
		require.NoError(t, err)
		require.NoErrorf(t, CheckMany(p, size, of, indexes, hashes), "%v in %d", indexes, size)
		if len(indexes) == 1 {
			single, _ := tlog.ProveRecord(size, indexes[0], s)
			require.Equalf(t, len(single), len(p), "%d hashes prove one entry, and %d would do", len(p), len(single))
		}
		if len(hashes) == 0 {
			continue
		}
		i := r.IntN(len(hashes))
		wrong := slices.Clone(hashes)
		wrong[i][3] ^= 1
		for what, err := range map[string]error{
			"another entry":   CheckMany(p, size, of, indexes, wrong),
			"another root":    CheckMany(p, size, leaf(1), indexes, hashes),
			"one node more":   CheckMany(append(slices.Clone(p), leaf(1)), size, of, indexes, hashes),
			"an entry fewer":  CheckMany(p, size, of, slices.Delete(slices.Clone(indexes), i, i+1), slices.Delete(slices.Clone(hashes), i, i+1)),
			"another size":    CheckMany(p, size+1, of, indexes, hashes),
			"no hash for one": CheckMany(p, size, of, indexes, hashes[1:]),
		} {
			if err == nil && !(what == "another size" && sameShape(size, indexes)) {
				t.Fatalf("%s passes: %v in %d", what, indexes, size)
			}
		}
		if len(p) > 0 {
			q := slices.Clone(p)
			q[r.IntN(len(q))][5] ^= 1
			if CheckMany(q, size, of, indexes, hashes) == nil || CheckMany(p[:len(p)-1], size, of, indexes, hashes) == nil {
				t.Fatal("a changed proof passes")
			}
		}
	}
}

// sameShape reports whether a tree of one entry more would be proven by the same hashes: where nothing but the last,
// bare subtree is longer.
func sameShape(size int64, indexes []int64) bool {
	count := func(size int64) (all [][2]int64) {
		walk(0, size, indexes, func(lo, hi int64) { all = append(all, [2]int64{lo, 0}) })
		return all
	}
	return slices.Equal(count(size), count(size+1))
}

func TestAStatedSizeCostsNothing(t *testing.T) {
	err := CheckMany(make(Proof, 3), 1<<62, tlog.Hash{}, []int64{1 << 61}, make([]tlog.Hash, 1))
	assert.ErrorIs(t, err, ErrProof)
}

func TestIndexesAscend(t *testing.T) {
	for _, indexes := range [][]int64{{3, 3}, {4, 3}, {-1}, {9}} {
		_, err := ProveMany(oracle(t, 9), 9, indexes)
		assert.Errorf(t, err, "%v is proven", indexes)
		assert.Errorf(t, CheckMany(nil, 9, tlog.Hash{}, indexes, make([]tlog.Hash, len(indexes))), "%v passes", indexes)
	}
}

func TestConsistencyOfTwoSizes(t *testing.T) {
	const n = 70
	s := oracle(t, n)
	for from := range int64(n) {
		for to := from; to < n; to++ {
			p, err := Consistency(s, from, to)
			require.NoError(t, err)
			if from == 0 {
				require.Emptyf(t, p, "0 to %d", to)
				continue
			}
			require.NoErrorf(t, tlog.CheckTree(p, to, root(t, s, to), from, root(t, s, from)), "%d to %d", from, to)
		}
	}
	_, err := Consistency(s, 5, 4)
	assert.Error(t, err, "a smaller tree continues a larger one")
}

func TestTilesAreReadAgainAtEachSize(t *testing.T) {
	const n = 66_200 // three levels
	s := oracle(t, n)
	dir := t.TempDir()
	w, err := NewTiles(dir)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(3, 4))
	var sizes []int64
	for at := int64(0); at < n; {
		next := min(n, at+1+r.Int64N(3000))
		for ; at < next; at++ {
			require.NoError(t, w.Append(leaf(at)))
		}
		require.NoError(t, w.Flush())
		w, err = OpenTiles(dir, at, root(t, s, at))
		require.NoError(t, err)
		sizes = append(sizes, at)
	}
	for _, size := range sizes { // also those of before
		indexes := []int64{0, size / 3, size - 1}
		indexes = slices.Compact(indexes)
		of := root(t, s, size)
		in := Reader(dir, size, of)
		p, err := ProveMany(in, size, indexes)
		require.NoErrorf(t, err, "size %d", size)
		var hashes []tlog.Hash
		for _, i := range indexes {
			hashes = append(hashes, leaf(i))
		}
		require.NoError(t, CheckMany(p, size, of, indexes, hashes))
		if g, err := Resume(in, size); err != nil || g.Root() != of {
			t.Fatalf("size %d: %v", size, err)
		}
	}
	if entries, _ := filepath.Glob(filepath.Join(dir, "tile", "*", "*.p", "*")); len(entries) > 3 {
		t.Errorf("%d partial tiles are left: %v", len(entries), entries)
	}
	for _, name := range []string{"tile/0/000", "tile/1/000", "tile/0/258.p/152", "tile/2/000.p/1"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Error(err) // the names of the specification
		}
	}
}

func TestTiles_RebuildTornOrChanged(t *testing.T) {
	const n = 700
	s := oracle(t, n)
	entries := func(yield func(tlog.Hash, error) bool) {
		for i := range int64(n) {
			if !yield(leaf(i), nil) {
				return
			}
		}
	}
	for name, harm := range map[string]func(path string) error{
		"torn":    func(path string) error { return os.Truncate(path, 40) },
		"missing": os.Remove,
		"changed": func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b[len(b)-1] ^= 1
			return os.WriteFile(path, b, 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := Rebuild(dir, entries)
			require.NoError(t, err)
			of := root(t, s, n)
			for _, tile := range []string{"tile/0/001", "tile/0/002.p/188", "tile/1/000.p/2"} {
				require.NoError(t, harm(filepath.Join(dir, filepath.FromSlash(tile))))
				if _, err := ProveMany(Reader(dir, n, of), n, []int64{300, 699}); !errors.Is(err, ErrTiles) {
					t.Errorf("%s: %v", tile, err)
				}
				w, err := OpenTiles(dir, n, of)
				if tile != "tile/0/001" && !errors.Is(err, ErrTiles) {
					t.Errorf("%s: %v, %v", tile, w, err)
				}
				if _, err := Rebuild(dir, entries); err != nil {
					t.Fatal(err)
				}
				if _, err := ProveMany(Reader(dir, n, of), n, []int64{300, 699}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestRebuildEndsAtAnError(t *testing.T) {
	bad := errors.New("bad")
	var hashes iter.Seq2[tlog.Hash, error] = func(yield func(tlog.Hash, error) bool) { yield(tlog.Hash{}, bad) }
	_, err := Rebuild(t.TempDir(), hashes)
	assert.ErrorIs(t, err, bad)
}

func TestPublicForm_OmitsOtherSites(t *testing.T) {
	withheld := `"salt":"00ff","via":"http://other.test/","seed":"http://third.test/"`
	line := `{"url":"http://a.test/","reason":"a \",\"salt\":\" in a string",` + withheld + `}`
	sum := sha256.Sum256([]byte(withheld))
	want := `{"url":"http://a.test/","reason":"a \",\"salt\":\" in a string","withheld":"` + hex.EncodeToString(sum[:]) + `"}`
	assert.Equal(t, want, string(Public(nil, []byte(line))))
	if EntryHash([]byte(line)) != EntryHash([]byte(want)) || EntryHash([]byte(want)) != tlog.RecordHash([]byte(want)) {
		t.Error("line and public form have two hashes")
	}
	for _, mark := range []string{`{"mark":"stop"}`, ``, `x,"salt":"y`} {
		if string(Public(nil, []byte(mark))) != mark || EntryHash([]byte(mark)) != tlog.RecordHash([]byte(mark)) {
			t.Errorf("%s is not its own public form", mark)
		}
	}
}

func TestHashingAnEntryDoesNotAllocate(t *testing.T) {
	h, line := NewHasher(), []byte(`{"url":"http://a.test/","salt":"00ff","via":"http://other.test/"}`)
	assert.Zero(t, testing.AllocsPerRun(100, func() { h.Entry(line) }))
}
