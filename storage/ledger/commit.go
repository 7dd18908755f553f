package ledger

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/checkpoint"
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
