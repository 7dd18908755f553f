package repair

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
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

// Import makes a frontier at path, which must not exist, from items in the order of frontier.Item. next returns them
// one by one and io.EOF after the last. The file gets its name when it is complete and durable. An item that is out of
// order, incomplete or contradicts another is an error with its number, counted from 1.
func Import(path string, next func() (frontier.Item, error)) error {
	fail := func(err error) error { return fmt.Errorf("frontier/bolt: import %s: %w", path, err) }
	if _, err := os.Lstat(path); err == nil {
		return fail(fmt.Errorf("%w: a frontier is imported into a new file", os.ErrExist))
	}
	to, err := newFileBuilder(path)
	if err != nil {
		return fail(err)
	}
	defer to.Abandon()
	im := importing{to: to, clock: layout.Clock{Began: time.Now()}}
	for n := 1; ; n++ {
		item, err := next()
		switch {
		case errors.Is(err, io.EOF) && im.stage == totalsStage:
			if err := to.finish(durable.Publish); err != nil {
				return fail(err)
			}
			return nil
		case errors.Is(err, io.EOF):
			return fail(fmt.Errorf("it ends after item %d without totals: it was cut off", n-1))
		case err == nil:
			err = im.take(item)
		}
		if err != nil {
			return fail(fmt.Errorf("item %d: %w", n, err))
		}
	}
}

// stage is the progress of an import: items come in this order.
type stage int

const (
	nothing stage = iota
	headStage
	seedStage
	blobStage
	hostStage
	urlStage // hosts also come among the URLs, each before its own
	refusedStage
	totalsStage
)

type importing struct {
	to      *Builder
	clock   layout.Clock
	stage   stage
	head    frontier.Head
	into    *assembly
	refused int64 // fingerprints
}

func (im *importing) take(item frontier.Item) error {
	var at []stage
	for s, is := range [...]bool{
		headStage: item.Head != nil, seedStage: item.Seed != nil, blobStage: item.Blob != nil, hostStage: item.Host != nil,
		urlStage: item.URL != nil, refusedStage: item.Refused != nil, totalsStage: item.Totals != nil,
	} {
		if is {
			at = append(at, stage(s))
		}
	}
	switch {
	case len(at) != 1:
		return fmt.Errorf("%d of its fields are set, and not one", len(at))
	case im.stage == nothing && at[0] != headStage:
		return errors.New("it comes before the head")
	case im.stage == headStage && at[0] == headStage, im.stage == totalsStage:
		return errors.New("it comes after the totals, or is a second head")
	case at[0] < im.stage && (at[0] != hostStage || im.stage != urlStage):
		return errors.New("it is out of order")
	}
	im.stage = max(im.stage, at[0])
	switch at[0] {
	case headStage:
		return im.begin(*item.Head)
	case seedStage:
		if item.Seed.URL.IsZero() {
			return errors.New("a seed has no URL")
		}
		return im.into.seed(*item.Seed)
	case blobStage:
		if len(item.Blob) > layout.MaxBlob {
			return fmt.Errorf("a blob of %d bytes: over %d", len(item.Blob), layout.MaxBlob)
		}
		return im.into.blobs(layout.MakeBlobs([][]byte{item.Blob}))
	case hostStage:
		return im.host(item.Host)
	case urlStage:
		return im.url(item.URL)
	case refusedStage:
		return im.refuse(item.Refused)
	}
	return im.end(item.Totals)
}

func (im *importing) begin(h frontier.Head) (err error) {
	switch {
	case len(h.Secret) != 32:
		return fmt.Errorf("a secret of %d bytes, not 32", len(h.Secret))
	case h.Openings < 0 || h.Openings >= math.MaxUint32:
		return fmt.Errorf("%d openings", h.Openings)
	case h.Floor < 0:
		return errors.New("its floor is negative")
	}
	im.head = h
	im.into, err = newAssembly(im.to, im.clock, bytes.Clone(h.Secret))
	return err
}

// host takes a host. Its counts are ignored: they follow from the rest.
func (im *importing) host(x *frontier.Host) error {
	a := im.into
	switch {
	case x.Authority.IsZero():
		return errors.New("a host has no name")
	case a.byName[x.Authority] != nil:
		return fmt.Errorf("host %s was there before", x.Authority)
	case x.Condition > frontier.Refused:
		return fmt.Errorf("host %s: no condition %d", x.Authority, x.Condition)
	case x.Hold.Act != 0 && x.Hold.Act != frontier.Park && x.Hold.Act != frontier.Drop:
		return fmt.Errorf("host %s: act %d does not hold a host", x.Authority, x.Hold.Act)
	case x.Pace < 0 || x.Width < 0:
		return fmt.Errorf("host %s: pace or width is negative", x.Authority)
	case len(x.Robots) > frontier.MaxRobots || len(x.Memory) > frontier.MaxMemory:
		return fmt.Errorf("host %s: robots state of %d bytes, memory of %d: over %d and %d",
			x.Authority, len(x.Robots), len(x.Memory), frontier.MaxRobots, frontier.MaxMemory)
	}
	h, err := a.host(x.Authority)
	if err != nil {
		return err
	}
	now := im.clock.Now()
	h.HostState = layout.HostState{
		Condition: x.Condition, Reason: x.Reason, Pace: x.Pace, Width: x.Width,
		NotBefore: layout.After(now, x.Wait),
	}
	switch v := x.Hold; { // an expired one has just ended
	case v.Act == frontier.Drop:
		h.Hold = &layout.Hold{Act: v.Act, Until: math.MaxInt64, Reason: v.Reason}
	case v.Act == frontier.Park && v.Wait > 0:
		h.Hold = &layout.Hold{Act: v.Act, Until: layout.After(now, v.Wait), Reason: v.Reason}
	}
	for kind, data := range map[layout.Kind][]byte{layout.KindRobots: x.Robots, layout.KindMemory: x.Memory} {
		if len(data) == 0 {
			continue
		}
		at := layout.Address{Kind: kind, ID: uint64(h.id)}
		if err := a.putState(layout.StateRecord{Address: at, Data: data}); err != nil {
			return err
		}
	}
	return nil
}

func (im *importing) url(x *frontier.Entry) error {
	a := im.into
	if x.URL.IsZero() {
		return errors.New("an entry has no URL")
	}
	h := a.byName[x.URL.Authority()]
	switch {
	case h == nil:
		return fmt.Errorf("URL %s: its host has not come yet", x.URL)
	case a.print.Print(x.URL) != x.Print:
		return fmt.Errorf("URL %s: its fingerprint does not belong to it", x.URL)
	case int(x.Outcome) >= len(frontier.Outcomes{}):
		return fmt.Errorf("URL %s: no outcome %d", x.URL, x.Outcome)
	case x.Attempts < 0 || x.Stops < 0 || x.Alone < 0 || x.Alone > x.Stops,
		x.Deferred && x.Attempts == 0 && x.Replaced.IsZero(): // a deferral counts an attempt, or replaces the URL
		return fmt.Errorf("URL %s: attempts or stops that cannot be", x.URL)
	}
	if fresh, err := a.mark(x.Print); err != nil || !fresh {
		return cmp.Or(err, fmt.Errorf("URL %s was there before", x.URL))
	}
	e := layout.Ending(0)
	if x.Outcome != 0 {
		e = layout.MakeEnding(x.Outcome, a.totals.Number(x.Reason))
	}
	r, err := a.url(h, x.Candidate, x.Print, e)
	if err != nil || x.Outcome != 0 {
		return err
	}
	return im.pending(r, x)
}

// pending writes the retry record of a pending URL.
func (im *importing) pending(r layout.Ref, x *frontier.Entry) error {
	now := im.clock.Now()
	t := &layout.Retry{
		Attempts: x.Attempts, Reason: x.Reason, Due: layout.After(now, x.Wait), Stops: x.Stops, Alone: x.Alone,
	}
	if !x.Replaced.IsZero() {
		t.URL = x.Replaced.String()
	}
	if t.Void() {
		return nil
	}
	return im.into.putState(*t.StateRecord(r, im.clock, now))
}

func (im *importing) refuse(ps []frontier.Fingerprint) error {
	for _, p := range ps {
		if p == 0 {
			return errors.New("a refused fingerprint is zero")
		}
		if fresh, err := im.into.mark(p); err != nil || !fresh {
			return cmp.Or(err, fmt.Errorf("refused fingerprint %016x was there before", uint64(p)))
		}
	}
	im.refused += int64(len(ps))
	return nil
}

// end takes the totals, which must agree with the other items.
func (im *importing) end(x *frontier.Totals) error {
	a, sum := im.into, x.Strange
	for name, n := range x.Refused {
		h := a.byName[name]
		if h == nil || n < 0 || n > math.MaxUint32 {
			return fmt.Errorf("totals: %d refused of host %s, which is not known or cannot be", n, name)
		}
		h.Refused = uint32(n)
		sum += n
	}
	if x.Strange < 0 || sum != im.refused {
		return fmt.Errorf("totals: %d refused, and %d have come", sum, im.refused)
	}
	a.totals.Strangers = x.Strange
	a.totals.Outcomes[frontier.Dropped] += sum
	for reason, n := range x.Reasons {
		if sum -= n; n < 0 || sum < 0 {
			return errors.New("totals: more reasons than refused URLs")
		}
		if e := layout.MakeEnding(frontier.Dropped, a.totals.Number(reason)); e.Reason() != 0 && n > 0 {
			a.totals.Endings[e] += n
		}
	}
	maps.Copy(a.totals.Capped, x.Capped)
	maps.Copy(a.totals.Counts, x.Counts)
	return a.finish(uint64(im.head.Openings), !im.head.Unclean, im.head.Floor)
}

// Builder writes a new file beside its destination. It commits now and then, to bound its memory, and syncs once, at
// the end.
type Builder struct {
	path, beside string
	db           *bbolt.DB
	Tx           *bbolt.Tx // the current one
	pending      int       // put since the last commit
}

const batchSize = 16 << 20 // bytes of a transaction

// NewBuilder begins a file that will replace the one at path, of which the caller has the lock of a writer. It removes
// the remains of an earlier builder that was killed.
func NewBuilder(path string) (*Builder, error) {
	beside := path + ".new"
	if err := os.Remove(beside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return beginBuilder(path, beside)
}

// newFileBuilder begins a file for path, which does not exist. Several may do so at the same time, and the first to be
// complete gets the name.
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

// beginBuilder begins the file beside path, and removes it when that fails.
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

// wrote counts bytes that were put into the transaction, and commits it when they reach batchSize.
func (b *Builder) wrote(n int) error {
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

func (b *Builder) Append(j layout.Journal, body []byte) (uint64, error) {
	seq, err := j.Append(b.Tx, body)
	if err != nil {
		return 0, err
	}
	return seq, b.wrote(len(body))
}

// Put puts a value into another bucket, which it makes if need be.
func (b *Builder) Put(bucket string, key, value []byte) error {
	to, err := b.Tx.CreateBucketIfNotExists([]byte(bucket))
	if err != nil {
		return err
	}
	to.FillPercent = 1
	if err := to.Put(key, value); err != nil {
		return err
	}
	return b.wrote(len(value))
}

// Pack returns a Packer into a journal, over several transactions.
func (b *Builder) Pack(j layout.Journal) *layout.Packer {
	return &layout.Packer{Write: func(body []byte) error {
		_, err := b.Append(j, body)
		return err
	}}
}

// Abandon removes the file unless it has got its name.
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

// Replace finishes the file and gives it its name, replacing the old file.
func (b *Builder) Replace() error {
	if err := b.finish(os.Rename); err != nil {
		return err
	}
	return durable.Names(filepath.Dir(b.path))
}

// finish commits, truncates the file to its pages, syncs, and has name give the file its name.
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

type host struct {
	layout.HostState
	id        uint32
	authority canon.Authority
}

// assembly makes a frontier from single facts, for Import and Rebuild. It takes URLs in the order of their acceptance,
// under new references. RAM holds the seen-set, the hosts and two bytes per URL.
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

	record  *layout.Record // the current one
	ends    []layout.Ending
	sizes   layout.Sizes
	endings []layout.Ending // of the complete records, in order
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

// host adds a host, which must be new, and its name. finish writes its state.
func (a *assembly) host(name canon.Authority) (*host, error) {
	h := &host{id: uint32(len(a.hosts)), authority: name}
	a.hosts = append(a.hosts, h)
	a.byName[name] = h
	at := layout.Address{Kind: layout.KindName, ID: uint64(h.id)}
	return h, a.putState(layout.StateRecord{Address: at, Data: []byte(name.String())})
}

func (a *assembly) putState(c layout.StateRecord) error { return a.states.Add(c.AppendTo(nil)) }

// mark adds a fingerprint to the seen-set and reports whether it was new.
func (a *assembly) mark(p frontier.Fingerprint) (bool, error) {
	if !a.seen.Add(p) {
		return false, nil
	}
	return true, a.prints.Add(binary.BigEndian.AppendUint64(nil, uint64(p)))
}

// url adds a URL of h, which must be new, and returns its reference.
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

// ending returns the ending of URL number n, counted from 0.
func (a *assembly) ending(n int) *layout.Ending {
	if n < len(a.endings) {
		return &a.endings[n]
	}
	return &a.ends[n-len(a.endings)]
}

// closeRecord writes the current record, if there is one.
func (a *assembly) closeRecord() error {
	if a.record == nil {
		return nil
	}
	body := a.record.AppendTo(nil, a.zip)
	ends := a.ends
	a.record, a.ends = nil, nil
	return a.whole(body, ends)
}

// whole writes an encoded record, with the endings of its entries.
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

// finish writes endings, states of hosts, totals, and how the last run stopped; a clean stop may have left a floor.
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

func (a *assembly) blobs(bs []layout.Blob) error {
	if err := layout.WriteBlobs(a.to.Tx, bs); err != nil {
		return err
	}
	n := 0
	for _, b := range bs {
		n += len(b.Body)
	}
	return a.to.wrote(n)
}
