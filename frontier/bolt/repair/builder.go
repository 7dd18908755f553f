package repair

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
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

// host is what is known of an authority.
type host struct {
	layout.HostState
	id        uint32
	authority canon.Authority
}

// assembly makes a frontier out of single facts, for Import and Rebuild: hosts, URLs in the order of their acceptance,
// and the rest. References are given out anew. RAM holds the seen-set, the hosts and two bytes per URL.
type assembly struct {
	to     *Builder
	clock  layout.Clock
	print  *layout.Printer
	seen   dbfile.Set
	totals *layout.Totals
	hosts  []*host
	byName map[canon.Authority]*host
	zip    *layout.Zipper
	states *layout.Packer
	prints *layout.Packer
	seeds  *layout.Packer

	record  *layout.Record // in work
	ends    []layout.Ending
	sizes   layout.Sizes
	endings []layout.Ending // of the records that are complete, one after the other
}

func newAssembly(to *Builder, c layout.Clock, secret []byte) (*assembly, error) {
	zip, unzip, err := layout.NewZip()
	if err != nil {
		return nil, err
	}
	unzip.Close()
	return &assembly{
		to: to, clock: c, print: layout.NewPrinter(secret), totals: layout.NewTotals(),
		byName: map[canon.Authority]*host{}, zip: zip,
		states: to.Pack(layout.StateJournal), prints: to.Pack(layout.SeenJournal), seeds: to.Pack(layout.SeedJournal),
	}, layout.WriteSecret(to.Tx, secret)
}

// host adds a host, which is not there yet, and its name. Its state is written by finish.
func (a *assembly) host(name canon.Authority) (*host, error) {
	h := &host{id: uint32(len(a.hosts)), authority: name}
	a.hosts = append(a.hosts, h)
	a.byName[name] = h
	at := layout.Address{Kind: layout.KindName, ID: uint64(h.id)}
	return h, a.putState(layout.StateRecord{Address: at, Data: []byte(name.String())})
}

func (a *assembly) putState(c layout.StateRecord) error { return a.states.Add(c.AppendTo(nil)) }

// mark enters a fingerprint into the seen-set and reports whether it was new.
func (a *assembly) mark(p frontier.Fingerprint) (bool, error) {
	if !a.seen.Add(p) {
		return false, nil
	}
	return true, a.prints.Add(binary.BigEndian.AppendUint64(nil, uint64(p)))
}

// url adds a URL of h that is not there yet, as mark has told, and returns its reference.
func (a *assembly) url(h *host, c frontier.Candidate, p frontier.Fingerprint, e layout.Ending) (layout.Ref, error) {
	if a.record == nil {
		a.record = &layout.Record{ID: uint64(len(a.sizes)) + 1}
	}
	r := layout.MakeRef(a.record.ID, a.record.Add(h.id, c, p))
	a.ends = append(a.ends, e)
	if a.record.Full() {
		return r, a.closeRecord()
	}
	return r, nil
}

// ending returns the ending of the URL that came as number n, from 0.
func (a *assembly) ending(n int) *layout.Ending {
	if n < len(a.endings) {
		return &a.endings[n]
	}
	return &a.ends[n-len(a.endings)]
}

// closeRecord writes the record in work.
func (a *assembly) closeRecord() error {
	if a.record == nil {
		return nil
	}
	body := a.record.AppendTo(nil, a.zip)
	ends := a.ends
	a.record, a.ends = nil, nil
	return a.whole(body, ends)
}

// whole writes a record as it is stored, with the endings of its entries.
func (a *assembly) whole(body []byte, ends []layout.Ending) error {
	if err := a.closeRecord(); err != nil {
		return err
	}
	a.sizes = append(a.sizes, uint8(len(ends)-1))
	a.endings = append(a.endings, ends...)
	seq, err := a.to.Append(layout.RecordJournal, body)
	if err == nil && seq != uint64(len(a.sizes)) {
		err = fmt.Errorf("record %d got the key %d: %w", len(a.sizes), seq, frontier.ErrDamaged)
	}
	return err
}

// finish writes what is known at the end: endings, states of hosts, totals, and the mark of how the last stop was; a clean
// one may have left a floor.
func (a *assembly) finish(epoch uint64, clean bool, floor time.Duration) error {
	if err := a.closeRecord(); err != nil {
		return err
	}
	all := layout.NewEndings(a.sizes)
	copy(all.All, a.endings)
	if err := all.Fold(a.to.Tx); err != nil {
		return err
	}
	for _, e := range a.endings {
		if e == 0 {
			continue
		}
		if a.totals.Outcomes[e.Outcome()]++; e.Reason() != 0 {
			a.totals.Endings[e]++
		}
	}
	now := a.clock.Now()
	for _, h := range a.hosts {
		if err := a.putState(*h.StateRecord(h.id, a.clock, now)); err != nil {
			return err
		}
	}
	for _, g := range []*layout.Packer{a.states, a.prints, a.seeds} {
		if err := g.Flush(); err != nil {
			return err
		}
	}
	if err := layout.WriteStop(a.to.Tx, a.clock, epoch, clean, floor); err != nil {
		return err
	}
	return layout.WriteTotals(a.to.Tx, a.totals.AppendTo(nil))
}

func (a *assembly) seed(s frontier.Seed) error { return a.seeds.Add(layout.AppendSeed(nil, s)) }

// blobs writes bodies.
func (a *assembly) blobs(bs []layout.Blob) error {
	if err := layout.WriteBlobs(a.to.Tx, bs); err != nil {
		return err
	}
	n := 0
	for _, b := range bs {
		n += len(b.Body)
	}
	return a.to.Wrote(n)
}
