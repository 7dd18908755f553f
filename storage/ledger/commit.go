package ledger

import (
	"context"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
)

const (
	// Interval is how often a checkpoint is made while lines come.
	Interval = 10 * time.Minute
	// maxChanged is how many hosts may have changed since the last one. It bounds what is kept of them in memory.
	maxChanged = 1 << 16
)

// committer owns the goroutine that makes checkpoints: the map, the tiles, the signature, and the files. No line waits
// for it.
type committer struct {
	kick chan struct{} // buffered by one; nil while there is no goroutine
	quit chan struct{}
	wg   sync.WaitGroup

	// The goroutine's, and while there is none, of Open and Close:
	tiles *tree.Tiles // of all that is committed
	spare tail        // memory for the next

	// Guarded by the Writer's mu:
	size int64         // of the last checkpoint
	next chan struct{} // closed when that changes, or the Writer breaks
}

// start starts the goroutine, which Close ends and waits for. The caller holds the Writer's mu.
func (c *committer) start(commit func()) {
	c.kick, c.quit = make(chan struct{}, 1), make(chan struct{})
	quit := c.quit
	c.wg.Go(func() {
		timer := time.NewTimer(Interval)
		defer timer.Stop()
		for {
			select {
			case <-quit:
				return
			case <-c.kick:
			case <-timer.C:
			}
			commit()
			timer.Reset(Interval)
		}
	})
}

// wake has a checkpoint made soon. The caller holds the Writer's mu.
func (c *committer) wake() {
	if c.kick == nil {
		return
	}
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// stop ends the goroutine. Nobody else may call start or stop meanwhile.
func (c *committer) stop() {
	if c.quit != nil {
		close(c.quit)
		c.quit = nil
	}
	c.wg.Wait()
}

// Commit waits until a checkpoint has everything that was written before the call, and makes it soon. Only a run makes
// checkpoints before Close: before Begin or the first line there is nothing to wait for.
func (w *Writer) Commit(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for size := w.tree.Size(); w.going && w.commits.size < size; {
		if err := w.refused(); err != nil {
			return err
		}
		w.commits.wake()
		next := w.commits.next
		w.mu.Unlock()
		select {
		case <-next:
		case <-ctx.Done():
		}
		w.mu.Lock()
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("ledger: wait for a checkpoint: %w", err)
		}
	}
	return nil
}

// commit makes a checkpoint, if there is anything new. A failure is in w.err.
func (w *Writer) commit() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if size := w.tree.Size(); w.err == nil && size > w.commits.size {
		t := w.tail
		w.tail = w.commits.spare
		w.tail.reset(size)
		w.mu.Unlock()
		err := w.checkpoint(&t, size)
		w.commits.spare = t
		w.mu.Lock()
		if err != nil && w.err == nil {
			_ = w.broken("make a checkpoint in "+w.dir, err)
		}
	}
	close(w.commits.next)
	w.commits.next = make(chan struct{})
}

// checkpoint makes one of the map as of size, of which t is new. The lines are durable before it is, the files that
// follow from them are written before it, and the map takes its place behind it: Open finds either the one or the other.
func (w *Writer) checkpoint(t *tail, size int64) error {
	m, err := w.mapOf(t, size)
	if err != nil {
		return err
	}
	c, more := w.place(m)
	if err := w.sync(); err != nil {
		return err
	}
	return w.keep(c, t, more)
}

// mapOf writes the map as of size, of which t is new, beside the present one, and returns its mark.
func (w *Writer) mapOf(t *tail, size int64) (Mark, error) {
	m := Mark{Kind: KindHosts, Size: size}
	err := w.sys.write(filepath.Join(w.dir, HostsName+newSuffix), func(to io.Writer) (err error) {
		m.Root, m.Hosts, err = writeHosts(to, t.merged(w.origin, int(size-t.base), Hosts(w.dir)))
		return err
	})
	return m, err
}

// keep writes what follows from a checkpoint whose lines are durable: the tiles of t and of more behind it, the signed
// note, and the map, which takes its place.
func (w *Writer) keep(c checkpoint.Checkpoint, t *tail, more []tlog.Hash) error {
	if err := w.commits.tiles.Append(t.hashes[w.commits.tiles.Size()-t.base:]...); err != nil {
		return err
	}
	if err := w.commits.tiles.Append(more...); err != nil {
		return err
	}
	if err := w.commits.tiles.Flush(); err != nil {
		return err
	}
	note, err := w.options.Signer.Sign(c)
	if err != nil {
		return err
	}
	for _, path := range []string{CheckpointPath(w.dir, c.Size), filepath.Join(w.dir, CheckpointName)} {
		if err := w.sys.keep(path, note); err != nil {
			return err
		}
	}
	current := filepath.Join(w.dir, HostsName)
	if err := w.sys.rename(current+newSuffix, current); err != nil {
		return err
	}
	w.mu.Lock()
	w.commits.size = c.Size
	w.mu.Unlock()
	if w.options.Signer != nil && w.options.Keep != nil {
		w.options.Keep(note)
	}
	return nil
}

// place puts the mark of a map, and returns the checkpoint that ends in it, and the hashes of the entries behind the map.
func (w *Writer) place(m Mark) (c checkpoint.Checkpoint, more []tlog.Hash) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beginSegment()
	m.Time = time.Now()
	w.mark(m)
	return checkpoint.Checkpoint{Origin: w.origin, Size: w.tree.Size(), Root: w.tree.Root()}, slices.Clone(w.tail.hashes)
}

// unmapped is the host of an entry that is under none.
const unmapped = ^uint32(0)

// tail is what a checkpoint still has to take in: the hashes of the last entries, and their hosts.
type tail struct {
	base   int64 // index of the first
	hashes []tlog.Hash
	hosts  []uint32 // index in names, of each
	names  []string
	ids    map[string]uint32
}

func (t *tail) size() int64 { return t.base + int64(len(t.hashes)) }

// add takes the next entry.
func (t *tail) add(h tlog.Hash, host string, mapped bool) {
	id := unmapped
	if mapped {
		var known bool
		if id, known = t.ids[host]; !known {
			if t.ids == nil {
				t.ids = map[string]uint32{}
			}
			id = uint32(len(t.names))
			t.ids[host] = id
			t.names = append(t.names, host)
		}
	}
	t.hashes, t.hosts = append(t.hashes, h), append(t.hosts, id)
}

// reset empties t, which goes on behind the entries so far, and keeps its memory.
func (t *tail) reset(base int64) {
	clear(t.ids)
	*t = tail{base: base, hashes: t.hashes[:0], hosts: t.hosts[:0], names: t.names[:0], ids: t.ids}
}

// drop forgets the first n entries.
func (t *tail) drop(n int) {
	rest := tail{base: t.base + int64(n), ids: map[string]uint32{}}
	for i := n; i < len(t.hashes); i++ {
		if id := t.hosts[i]; id == unmapped {
			rest.add(t.hashes[i], "", false)
		} else {
			rest.add(t.hashes[i], t.names[id], true)
		}
	}
	*t = rest
}

// change is what a host has more.
type change struct {
	key  hostmap.Hash
	host string
	at   []int32 // its entries, as indexes in a tail
}

// changes are what the first n entries change, in the order of keys.
func (t *tail) changes(origin string, n int) []change {
	places := make([][]int32, len(t.names))
	for i, id := range t.hosts[:n] {
		if id != unmapped {
			places[id] = append(places[id], int32(i))
		}
	}
	all := make([]change, 0, len(t.names))
	for id, at := range places {
		if len(at) > 0 {
			all = append(all, change{hostmap.Key(origin, t.names[id]), t.names[id], at})
		}
	}
	slices.SortFunc(all, func(a, b change) int {
		return hostmap.Compare(hostmap.Entry{Key: a.key}, hostmap.Entry{Key: b.key})
	})
	return all
}

// merged is the map of base and what the first n entries change.
func (t *tail) merged(origin string, n int, base iter.Seq2[hostmap.Entry, error]) iter.Seq2[hostmap.Entry, error] {
	return func(yield func(hostmap.Entry, error) bool) {
		left := t.changes(origin, n)
		// take yields the first change, upon what the map had of its host.
		take := func(e hostmap.Entry) bool {
			c := left[0]
			left = left[1:]
			e.Key, e.Host = c.key, c.host
			for _, i := range c.at {
				e.Add(t.base+int64(i), t.hashes[i])
			}
			return yield(e, nil)
		}
		for e, err := range base {
			if err != nil {
				yield(e, err)
				return
			}
			order := 1
			for len(left) > 0 {
				if order = hostmap.Compare(hostmap.Entry{Key: left[0].key}, e); order >= 0 {
					break
				}
				if !take(hostmap.Entry{}) {
					return
				}
			}
			if len(left) > 0 && order == 0 {
				if !take(e) {
					return
				}
			} else if !yield(e, nil) {
				return
			}
		}
		for len(left) > 0 {
			if !take(hostmap.Entry{}) {
				return
			}
		}
	}
}
