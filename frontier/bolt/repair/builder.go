package repair

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/durable"
)

// Builder writes a new file from end to end, beside the one whose name it will have. It commits now and then, to bound
// its memory, and syncs once: until it has its name the file is nobody's.
type Builder struct {
	path, beside string
	db           *bbolt.DB
	Tx           *bbolt.Tx // in work
	pending      int       // put since the last commit
}

// batchSize is how many bytes a builder puts into one transaction.
const batchSize = 16 << 20

// NewBuilder begins a file that will replace the one at path, of which the caller has the lock of a writer. It
// removes what a kill of an earlier builder left beside it.
func NewBuilder(path string) (*Builder, error) {
	beside := path + ".new"
	if err := os.Remove(beside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return beginBuilder(path, beside)
}

// newFileBuilder begins a file for path, where there is none: who else does so at the same time is not in the way, and
// the first to be complete has the name.
func newFileBuilder(path string) (*Builder, error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new*")
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	return beginBuilder(path, file.Name())
}

// beginBuilder begins a file beside path, which is the builder's: it is gone when that fails.
func beginBuilder(path, beside string) (*Builder, error) {
	b := &Builder{path: path, beside: beside}
	db, err := bbolt.Open(b.beside, 0o600, &bbolt.Options{
		Timeout: dbfile.LockWait, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true, NoSync: true, NoGrowSync: true,
		OpenFile: durable.OpenFile,
	})
	if err != nil {
		os.Remove(b.beside)
		return nil, err
	}
	b.db = db
	if err := db.Update(layout.Create); err != nil {
		b.Abandon()
		return nil, err
	}
	if b.Tx, err = db.Begin(true); err != nil {
		b.Abandon()
		return nil, err
	}
	return b, nil
}

// Wrote counts bytes that were put into the transaction, and commits it when they are many.
func (b *Builder) Wrote(n int) error {
	if b.pending += n; b.pending < batchSize {
		return nil
	}
	b.pending = 0
	err := b.Tx.Commit()
	b.Tx = nil
	if err != nil {
		return err
	}
	b.Tx, err = b.db.Begin(true)
	return err
}

// Append adds a value to a journal and returns its key.
func (b *Builder) Append(j layout.Journal, body []byte) (uint64, error) {
	seq, err := j.Append(b.Tx, body)
	if err != nil {
		return 0, err
	}
	return seq, b.Wrote(len(body))
}

// Put puts a value into another bucket, which is made if need be.
func (b *Builder) Put(bucket string, key, value []byte) error {
	to, err := b.Tx.CreateBucketIfNotExists([]byte(bucket))
	if err != nil {
		return err
	}
	to.FillPercent = 1
	if err := to.Put(key, value); err != nil {
		return err
	}
	return b.Wrote(len(value))
}

// Pack returns what packs items into values of a journal, over several transactions.
func (b *Builder) Pack(j layout.Journal) *layout.Packer {
	return &layout.Packer{Write: func(body []byte) error {
		_, err := b.Append(j, body)
		return err
	}}
}

// Abandon removes what has not got its name.
func (b *Builder) Abandon() {
	if b.beside == "" {
		return
	}
	if b.Tx != nil {
		b.Tx.Rollback()
	}
	b.db.Close()
	os.Remove(b.beside)
	b.beside = ""
}

// Replace gives the file its name, in place of what had it.
func (b *Builder) Replace() error {
	if err := b.finish(os.Rename); err != nil {
		return err
	}
	return durable.Names(filepath.Dir(b.path))
}

// finish commits, cuts off what the file was grown in advance, syncs, and has name give the file its name.
func (b *Builder) finish(name func(fresh, path string) error) error {
	if err := layout.Restamp(b.Tx); err != nil {
		return err
	}
	err := b.Tx.Commit()
	b.Tx = nil
	if err != nil {
		return err
	}
	if err := b.db.Close(); err != nil {
		return err
	}
	file, err := durable.OpenFile(b.beside, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	m, ok := dbfile.LastMeta(file)
	if !ok {
		return fmt.Errorf("the new file has no valid meta page: %w", frontier.ErrDamaged)
	}
	if err := file.Truncate(int64(m.Pages * m.PageSize)); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := name(b.beside, b.path); err != nil {
		return err
	}
	b.beside = ""
	return nil
}
