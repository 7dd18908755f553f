package layout

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
)

func makeDB(t testing.TB) *bbolt.DB {
	t.Helper()
	db, err := dbfile.Open(filepath.Join(t.TempDir(), "x.db"), Create)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// The endings after folds are those of the last word on each entry.
func TestEndings_LastWordCounts(t *testing.T) {
	db := makeDB(t)
	rnd := rand.New(rand.NewPCG(5, 5))
	var sz Sizes
	want := map[Ref]Ending{}
	for round := range 20 {
		for range rnd.IntN(40) {
			sz = append(sz, uint8(rnd.IntN(MaxPlaces)))
		}
		var ds []Done
		for range min(rnd.IntN(3000), 100*len(sz)) {
			record := uint64(1 + rnd.IntN(len(sz)))
			r := MakeRef(record, rnd.IntN(sz.Entries(record)))
			e := MakeEnding(frontier.Outcome(rnd.IntN(7)), rnd.IntN(3)) // outcome 0 reopens
			if e.Outcome() == 0 {
				e = 0
			}
			ds, want[r] = append(ds, MakeDone(r, e)), e
		}
		err := db.Update(func(tx *bbolt.Tx) error {
			if err := WriteWords(tx, DoneJournal, ds); err != nil {
				return err
			}
			all := NewEndings(sz)
			folded, unfolded, err := all.Read(tx)
			if err != nil {
				return err
			}
			if round%3 == 1 {
				return all.Fold(tx)
			}
			assert.Truef(t, round%3 != 2 || unfolded == int64(len(ds)), "%d words since the fold, want %d", unfolded, len(ds))
			closed := count(want)
			assert.Truef(t, round%3 != 2 || folded <= int64(closed)+int64(len(ds)), "%d folded of %d", folded, closed)
			return nil
		})
		require.NoError(t, err)
		err = db.View(func(tx *bbolt.Tx) error {
			all := NewEndings(sz)
			if _, _, err := all.Read(tx); err != nil {
				return err
			}
			for r, e := range want {
				if *all.Of(r) != e {
					return fmt.Errorf("entry %d of record %d: %d, want %d", r.Place(), r.Record(), *all.Of(r), e)
				}
			}
			if all.Of(MakeRef(uint64(len(sz)+1), 0)) != nil || all.Of(MakeRef(1, sz.Entries(1))) != nil || all.Of(0) != nil {
				return fmt.Errorf("there are endings of missing entries")
			}
			return nil
		})
		require.NoErrorf(t, err, "round %d", round)
	}
}

func count(m map[Ref]Ending) (n int) {
	for _, e := range m {
		if e != 0 {
			n++
		}
	}
	return n
}

// Append refuses a key that is not beyond all others: bbolt would overwrite.
func TestJournal_NeverOverwrites(t *testing.T) {
	db := makeDB(t)
	err := db.Update(func(tx *bbolt.Tx) error {
		for range 3 {
			if _, err := DoneJournal.Append(tx, []byte("12345678")); err != nil {
				return err
			}
		}
		return tx.Bucket([]byte(DoneJournal)).SetSequence(1)
	})
	require.NoError(t, err)
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := DoneJournal.Append(tx, []byte("overwrites"))
		return err
	})
	require.Error(t, err, "a key has been used again")
}

// Dropping and clearing give no key back.
func TestJournal_KeysOnlyGrow(t *testing.T) {
	db := makeDB(t)
	var keys []uint64
	for round := range 6 {
		err := db.Update(func(tx *bbolt.Tx) error {
			for range 2 {
				k, err := DoneJournal.Append(tx, make([]byte, 8))
				if err != nil {
					return err
				}
				keys = append(keys, k)
			}
			if round%2 == 0 {
				return DoneJournal.clear(tx)
			}
			return DoneJournal.Drop(tx, keys[len(keys)-1])
		})
		require.NoError(t, err)
	}
	require.Truef(t, slices.IsSorted(keys) && len(slices.Compact(keys)) == 12, "keys %v", keys)
}
