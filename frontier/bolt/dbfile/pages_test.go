package dbfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

// known is the version of bbolt whose page format (internal/common: meta, page, bucket, inode) this package reads.
const known = "go.etcd.io/bbolt v1.5.0"

func TestMeta_MatchesBboltInUse(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("..", "..", "..", "go.mod"))
	require.NoError(t, err)
	assert.Containsf(t, string(mod), "\t"+known+"\n", "go.mod does not have %s: hold this package against the sources of the version that it has", known)
}

// The meta pages that this package reads are those of bbolt, and every page that bbolt writes passes.
func TestPages_ReadsBboltFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true})
	require.NoError(t, err)
	defer db.Close()
	for round := range 20 {
		var id, size int64
		err := db.Update(func(tx *bbolt.Tx) error {
			for _, name := range []string{"small", "large"} {
				b, err := tx.CreateBucketIfNotExists([]byte(name))
				if err != nil {
					return err
				}
				n := 1
				if name == "large" {
					n = 1000 * round
				}
				if err := b.Put([]byte{byte(round), 1}, make([]byte, n)); err != nil {
					return err
				}
			}
			id = int64(tx.ID())
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, db.View(func(tx *bbolt.Tx) error { size = tx.Size(); return nil }))
		file, err := os.Open(path)
		require.NoError(t, err)
		m, ok := LastMeta(file)
		if !ok || m.Tx != uint64(id) || m.PageSize != uint64(db.Info().PageSize) || m.Pages*m.PageSize != uint64(size) {
			t.Errorf("round %d: %+v, %v; transaction %d, %d bytes in pages of %d", round, m, ok, id, size, db.Info().PageSize)
		}
		assert.NoErrorf(t, Check(file), "round %d", round)
		require.NoError(t, file.Close())
	}
}
