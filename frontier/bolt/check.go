package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/bolt/repair"
	"curtsy/frontier/durable"
	"curtsy/frontier/durable/meter"
)

// Check examines the file at path, which no crawl may hold, and returns the faults: by bbolt's own check of pages and
// keys, and by comparing the parts of the layout. It changes nothing. The error is ErrInUse, ErrNewer, ErrOlder, or
// ErrDamaged when the file is too damaged to examine.
func Check(path string) ([]string, error) {
	db, err := dbfile.OpenReadOnly(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	c := &checker{}
	err = dbfile.Guard(func() error {
		return db.View(func(tx *bbolt.Tx) (err error) {
			for err := range tx.Check() {
				c.find("bbolt: %v", err)
			}
			if len(c.found) > 0 {
				return nil // the contents of such pages prove nothing
			}
			if c.f, err = openStored(path, db, tx); err != nil {
				return err
			}
			return c.check(tx)
		})
	})
	switch {
	case errors.Is(err, frontier.ErrNewer), errors.Is(err, frontier.ErrOlder):
		return nil, dbfile.OpenError(path, err)
	case errors.Is(err, frontier.ErrDamaged):
		c.find("%v", err)
	case err != nil:
		return nil, dbfile.OpenError(path, err)
	}
	return c.found, nil
}

// CutShort reports whether one of the two meta pages of bbolt is not valid; bbolt uses the other. A commit
// that a kill or a power cut ended in the middle leaves such a file: all that was acknowledged is in it, and the next
// commit repairs it. But a page that the disk has spoilt looks the same, and then the last commit is missing. So
// Check does not list it, and the command reports it separately.
func CutShort(path string) (bool, error) {
	file, err := durable.Open(path)
	if err != nil {
		return false, fmt.Errorf("frontier/bolt: look at the meta pages: %w", err)
	}
	defer file.Close()
	m, ok := dbfile.LastMeta(file)
	for i := range int64(2) {
		if _, valid := dbfile.ReadMeta(file, i*int64(m.PageSize)); !valid {
			return ok, nil
		}
	}
	return false, nil
}

type checker struct {
	f     *Frontier
	seen  dbfile.Set
	found []string
}

// maxFindings bounds the list: a file that is wrong throughout would have one for every URL.
const maxFindings = 100

func (c *checker) find(format string, args ...any) {
	switch {
	case len(c.found) < maxFindings:
		c.found = append(c.found, fmt.Sprintf(format, args...))
	case len(c.found) == maxFindings:
		c.found = append(c.found, "… and more")
	}
}

// check loads the file as an open does, which is most of the check, and compares the result with the rest of the file.
func (c *checker) check(tx *bbolt.Tx) error {
	twice := 0
	err := layout.ReadWords(tx, layout.SeenJournal, func(p frontier.Fingerprint) error {
		if p == 0 || !c.seen.Add(p) {
			twice++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if twice > 0 {
		c.find("seen: %d fingerprints are there twice, or zero", twice)
	}
	if err := c.records(tx); err != nil {
		return err
	}
	c.sums()
	if err := c.counters(tx); err != nil {
		return err
	}
	if err := c.states(tx); err != nil {
		return err
	}
	if err := layout.EachSeed(tx, 0, layout.SeedJournal.Last(tx), func(frontier.Seed) error { return nil }); err != nil {
		return err
	}
	for _, err := range layout.Blobs(tx) {
		if err != nil {
			c.find("%v", err)
		}
	}
	return nil
}

// records reads every entry: each must be a URL of its host, in the seen-set, and unique.
func (c *checker) records(tx *bbolt.Tx) error {
	once := &dbfile.Set{}
	see := func(r layout.Ref, _ *host, e frontier.Candidate) error {
		p := c.f.printer.Print(e.URL)
		if !c.seen.Has(p) {
			c.find("record %d, entry %d: %s is not in the seen-set", r.Record(), r.Place(), e.URL)
		}
		if !once.Add(p) {
			c.find("record %d, entry %d: %s was accepted before", r.Record(), r.Place(), e.URL)
		}
		return nil
	}
	return c.f.eachText(context.Background(), tx, nil, func([]layout.Span) {}, see)
}

// sums compares the totals with the sums over the hosts.
func (c *checker) sums() {
	var sum frontier.Outcomes
	pending, refused := int64(0), c.f.totals.Strangers
	sum[frontier.Dropped] = c.f.totals.Strangers
	for _, h := range c.f.hosts.all {
		if h == nil {
			continue
		}
		for o, n := range h.outcomes {
			sum[o] += int64(n)
		}
		pending += int64(h.pending())
		refused += int64(h.Refused)
	}
	if sum != c.f.totals.Outcomes {
		c.find("totals: outcomes %v, and the hosts have %v", c.f.totals.Outcomes, sum)
	}
	reasons := frontier.Outcomes{}
	for e, n := range c.f.totals.Endings {
		reasons[e.Outcome()] += n
	}
	for o, n := range reasons {
		if n > c.f.totals.Outcomes[o] {
			c.find("totals: %d %s for a reason, of %d in all", n, frontier.Outcome(o), c.f.totals.Outcomes[o])
		}
	}
	if n := int64(c.seen.Len()); n != c.f.caps.accepted+refused {
		c.find("seen: %d URLs, and there are %d in records and %d refused", n, c.f.caps.accepted, refused)
	}
	if n := pending + c.f.totals.Closed() - refused; n != c.f.caps.accepted {
		c.find("records: %d entries, and %d are pending or closed", c.f.caps.accepted, n)
	}
}

// counters compares the counters of the journals with their keys. Values leave a journal oldest first, so the rest are
// the last ones.
func (c *checker) counters(tx *bbolt.Tx) error {
	for _, j := range layout.Journals() {
		n, first, last := uint64(0), uint64(0), uint64(0)
		err := j.Each(tx, func(seq uint64, _ []byte) error {
			if n == 0 {
				first = seq
			}
			n, last = n+1, seq
			return nil
		})
		if err != nil {
			return err
		}
		gapless := j == layout.SeenJournal || j == layout.RecordJournal || j == layout.SeedJournal
		if at := j.Last(tx); n > 0 && (last != at || last-first != n-1) || gapless && n != at {
			c.find("%s: %d values from %d to %d, and the counter is at %d", j, n, first, last, at)
		}
	}
	return nil
}

func (c *checker) states(tx *bbolt.Tx) error {
	cells := layout.Lookup{Tx: tx, Journal: layout.StateJournal}
	for _, h := range c.f.hosts.all {
		if h == nil {
			continue
		}
		for i, limit := range [...]int{layout.KindRobots - 1: frontier.MaxRobots, layout.KindMemory - 1: frontier.MaxMemory} {
			data, err := cells.ReadState(h.at[i], layout.Address{Kind: layout.Kind(i + 1), ID: uint64(h.id)})
			if err != nil {
				return err
			}
			if limit > 0 && len(data) > limit {
				c.find("host %s: cell of kind %d has %d bytes, over %d", h.authority, i+1, len(data), limit)
			}
		}
	}
	return nil
}

// Compact rewrites the file at path, which no crawl may hold, without superseded records, and returns its size before
// and after. With forget, it also drops the texts of records whose entries are all Fetched or Redirected: these URLs
// stay counted and are not accepted again, but cannot be listed. The new file is built beside the old one and replaces
// it in one step.
func Compact(ctx context.Context, path string, forget bool) (before, after int64, err error) {
	if before, err = sizeOf(path); err != nil { // or else it would be made
		return 0, 0, fmt.Errorf("frontier/bolt: compact: %w", err)
	}
	db, err := dbfile.Open(path, layout.Create)
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	err = rewrite(ctx, path, db, forget)
	if err == nil {
		after, err = sizeOf(path)
	}
	switch {
	case errors.Is(err, frontier.ErrDamaged), errors.Is(err, frontier.ErrNewer), errors.Is(err, frontier.ErrOlder):
		return 0, 0, dbfile.OpenError(path, err)
	case err != nil:
		return 0, 0, fmt.Errorf("frontier/bolt: compact %s: %w", path, err)
	}
	return before, after, nil
}

func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// rewrite holds the lock of the old file until the new one has replaced it, so no process writes in between.
func rewrite(ctx context.Context, path string, db *bbolt.DB, forget bool) error {
	b, err := repair.NewBuilder(path)
	if err != nil {
		return err
	}
	defer b.Abandon()
	err = dbfile.Guard(func() error {
		return db.View(func(tx *bbolt.Tx) error {
			f, err := openStored(path, db, tx)
			if err != nil {
				return err
			}
			c := copying{ctx: ctx, f: f, from: tx, to: b, forget: forget}
			return c.all()
		})
	})
	if err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // where an open file keeps its name
		if err := db.Close(); err != nil {
			return err
		}
	}
	return b.Replace()
}

type copying struct {
	ctx    context.Context // of the one call
	f      *Frontier
	from   *bbolt.Tx
	to     *repair.Builder
	forget bool
}

func (c *copying) all() error {
	for _, j := range []layout.Journal{layout.SeenJournal, layout.RecordJournal, layout.StateJournal, layout.SeedJournal} {
		meter.Of(c.ctx, int64(j.Last(c.from)))
	}
	return c.from.ForEach(func(name []byte, b *bbolt.Bucket) error {
		switch layout.Journal(name) {
		case layout.RecordJournal:
			return c.records()
		case layout.StateJournal:
			return c.states()
		case layout.DoneJournal, layout.FoldedJournal: // records folds them
			return nil
		}
		return c.same(string(name), b)
	})
}

// same copies a bucket as it is: references to records keep their meaning, and checksums are those of the same keys.
func (c *copying) same(name string, b *bbolt.Bucket) error {
	err := b.ForEach(func(k, v []byte) error {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if !layout.Sound(name, k, v) {
			return fmt.Errorf("read %s: key %x: checksum does not match: %w", name, k, frontier.ErrDamaged)
		}
		if b.Sequence() > 0 {
			meter.Add(c.ctx, 1)
		}
		return c.to.Put(name, k, v)
	})
	if err != nil {
		return err
	}
	return c.to.Tx.Bucket([]byte(name)).SetSequence(b.Sequence())
}

// each is Each of journal j, until the context ends.
func (c *copying) each(j layout.Journal, f func(seq uint64, body []byte) error) error {
	return j.Each(c.from, func(seq uint64, body []byte) error {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		meter.Add(c.ctx, 1)
		return f(seq, body)
	})
}

// records copies the records under their numbers, so that references keep their meaning, and folds all endings.
func (c *copying) records() error {
	all, err := layout.ReadEndings(c.from)
	if err != nil {
		return err
	}
	err = c.each(layout.RecordJournal, func(seq uint64, body []byte) error {
		needed := func(e layout.Ending) bool {
			return e.Outcome() != frontier.Fetched && e.Outcome() != frontier.Redirected
		}
		if c.forget && !slices.ContainsFunc(all.Record(seq), needed) { // Retry does not open such entries
			_, text, err := layout.ParseHead(body, nil)
			if err != nil {
				return err
			}
			body = body[:len(body)-len(text)]
		}
		to, err := c.to.Append(layout.RecordJournal, body)
		if err == nil && to != seq {
			err = fmt.Errorf("record %d got the key %d: %w", seq, to, frontier.ErrDamaged)
		}
		return err
	})
	if err != nil {
		return err
	}
	return all.Fold(c.to.Tx)
}

func (c *copying) states() error {
	w := c.to.Pack(layout.StateJournal)
	var item []byte
	err := c.each(layout.StateJournal, func(seq uint64, body []byte) error {
		var live []layout.StateRecord
		err := layout.EachState(body, func(x layout.StateRecord) error {
			if at := c.f.at(x.Address); at != nil && *at == seq {
				live = slices.DeleteFunc(live, func(old layout.StateRecord) bool { return old.Address == x.Address })
				live = append(live, x)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, x := range live {
			item = x.AppendTo(item[:0])
			if err := w.Add(item); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.Flush()
}
