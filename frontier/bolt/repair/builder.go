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

// builder writes a new file from end to end, beside the one whose name it will have. It commits now and then, to bound
// its memory, and syncs once: until it has its name the file is nobody's.
type builder struct {
	path, beside string
	db           *bbolt.DB
	tx           *bbolt.Tx
	pending      int // put since the last commit
}

// batchSize is how many bytes a builder puts into one transaction.
const batchSize = 16 << 20

// newBuilder begins a file that will replace the one at path, of which the caller has the lock of a writer. It
// removes what a kill of an earlier builder left beside it.
func newBuilder(path string) (*builder, error) {
	beside := path + ".new"
	if err := os.Remove(beside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return beginBuilder(path, beside)
}

// newFileBuilder begins a file for path, where there is none: who else does so at the same time is not in the way, and
// the first to be complete has the name.
func newFileBuilder(path string) (*builder, error) {
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
func beginBuilder(path, beside string) (*builder, error) {
	b := &builder{path: path, beside: beside}
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
		b.abandon()
		return nil, err
	}
	if b.tx, err = db.Begin(true); err != nil {
		b.abandon()
		return nil, err
	}
	return b, nil
}

// wrote counts bytes that were put into the transaction, and commits it when they are many.
func (b *builder) wrote(n int) error {
	if b.pending += n; b.pending < batchSize {
		return nil
	}
	b.pending = 0
	err := b.tx.Commit()
	b.tx = nil
	if err != nil {
		return err
	}
	b.tx, err = b.db.Begin(true)
	return err
}

// append adds a value to a journal and returns its key.
func (b *builder) append(j layout.Journal, body []byte) (uint64, error) {
	seq, err := j.Append(b.tx, body)
	if err != nil {
		return 0, err
	}
	return seq, b.wrote(len(body))
}

// put puts a value into another bucket, which is made if need be.
func (b *builder) put(bucket string, key, value []byte) error {
	to, err := b.tx.CreateBucketIfNotExists([]byte(bucket))
	if err != nil {
		return err
	}
	to.FillPercent = 1
	if err := to.Put(key, value); err != nil {
		return err
	}
	return b.wrote(len(value))
}

// gather packs items into values of a journal as packer does, over several transactions.
type gather struct {
	to      *builder
	journal layout.Journal
	body    []byte
}

func (g *gather) add(item []byte) error {
	if len(g.body) > 0 && len(g.body)+len(item) > layout.ValueSize {
		if err := g.flush(); err != nil {
			return err
		}
	}
	g.body = append(g.body, item...)
	return nil
}

func (g *gather) flush() error {
	if len(g.body) == 0 {
		return nil
	}
	_, err := g.to.append(g.journal, g.body)
	g.body = g.body[:0]
	return err
}

// abandon removes what has not got its name.
func (b *builder) abandon() {
	if b.beside == "" {
		return
	}
	if b.tx != nil {
		b.tx.Rollback()
	}
	b.db.Close()
	os.Remove(b.beside)
	b.beside = ""
}

// complete commits, cuts off what the file was grown in advance, and syncs.
func (b *builder) complete() error {
	if err := layout.Restamp(b.tx); err != nil {
		return err
	}
	err := b.tx.Commit()
	b.tx = nil
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
	return file.Close()
}

// replace gives the file its name, in place of what had it.
func (b *builder) replace() error {
	if err := b.complete(); err != nil {
		return err
	}
	if err := os.Rename(b.beside, b.path); err != nil {
		return err
	}
	b.beside = ""
	return durable.Names(filepath.Dir(b.path))
}

// publish gives the file its name, which nothing may have.
func (b *builder) publish() error {
	if err := b.complete(); err != nil {
		return err
	}
	if err := durable.Publish(b.beside, b.path); err != nil {
		return err
	}
	b.beside = ""
	return nil
}
