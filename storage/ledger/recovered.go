package ledger

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
)

// absorb takes what was read into map and tiles.
func (r *recovery) absorb() error {
	w := r.w
	fresh := filepath.Join(w.dir, HostsName+newSuffix)
	var root hostmap.Hash
	err := w.sys.write(fresh, func(to io.Writer) (err error) {
		root, _, err = writeHosts(to, w.tail.merged(w.origin, len(w.tail.hashes), Hosts(w.dir)))
		return err
	})
	if err == nil {
		err = w.sys.rename(fresh, filepath.Join(w.dir, HostsName))
	}
	if n := w.commits.tiles.Size() - w.tail.base; err == nil && n < int64(len(w.tail.hashes)) {
		err = w.commits.tiles.Append(w.tail.hashes[max(n, 0):]...)
	}
	if err != nil {
		return err
	}
	if r.index == r.mapped && root != r.hosts.Root {
		why := "they are not those that the checkpoint states"
		if r.stubs > 0 {
			why = fmt.Sprintf("%d lines were forgotten, and count for no host any more", r.stubs)
		}
		w.repairs = append(w.repairs, fmt.Sprintf("the ledger's rebuilt map of hosts differs: %s", why))
	}
	w.tail.reset(r.index)
	return nil
}

// finish settles what goes on, and says what was made anew.
func (r *recovery) finish() error {
	w := r.w
	if r.index < r.committed {
		return r.lost("there are %d", r.index)
	}
	if r.note != nil && !r.told {
		w.ended = false // the run that began before what was read goes on
	}
	w.commits.size, w.foreign = r.committed, r.key != w.options.Signer.VerifierKey()
	if w.origin == "" {
		w.origin = checkpoint.Origin(w.options.Signer, checkpoint.NewID())
	}
	if len(w.tail.hashes) == 0 {
		w.tail.reset(r.index)
	}
	if r.note != nil && r.tiles {
		w.repairs = append(w.repairs, fmt.Sprintf("the ledger's tiles did not match its checkpoint: rebuilt from %d lines", r.index))
	}
	if r.note != nil && r.anew {
		w.repairs = append(w.repairs, fmt.Sprintf("the ledger's map of hosts did not match its checkpoint: rebuilt from %d lines", r.mapped))
	}
	return r.complete()
}

// complete makes the checkpoint that a map is to end in, where a kill came between the map's mark and the checkpoint. Only
// a run says that one was killed before it; behind an operator's command nobody could account for what is missing. Where
// the run had another key, it stays missing.
func (r *recovery) complete() error {
	w, m := r.w, r.bare
	if m == nil || m.Size < w.tail.base || m.Size >= r.missed.Size {
		return nil
	}
	made, err := w.mapOf(&w.tail, m.Size)
	if err != nil {
		return err
	}
	if made.Root != m.Root || made.Hosts != m.Hosts {
		return w.sys.remove(filepath.Join(w.dir, HostsName+newSuffix)) // the audit says so
	}
	if w.begun { // else it is packed, and so durable
		if err := w.reopen(); err != nil {
			return err
		}
		if err := w.file.Sync(); err != nil {
			return w.poison("sync", err)
		}
		w.synced = w.size
	}
	r.missed.Origin = w.origin
	of := tail{base: w.tail.base, hashes: w.tail.hashes[:r.missed.Size-w.tail.base]}
	if err := w.keep(r.missed, &of, nil); err != nil {
		return err
	}
	w.tail.drop(int(m.Size - w.tail.base))
	return nil
}

// rotations finds those that lead from the key of the latest checkpoint to the one that signs now.
func (r *recovery) rotations() error {
	w := r.w
	if r.note == nil || r.note.SignedBy(w.options.Signer.Key()) {
		return nil
	}
	var due [][]byte
	var at checkpoint.Key
	for _, note := range w.options.Rotations {
		of, err := checkpoint.ParseRotation(note)
		if err != nil {
			return err
		}
		if due == nil && r.note.SignedBy(of.Old) || due != nil && of.Old == at {
			due, at = append(due, note), of.New
		}
	}
	if at == w.options.Signer.Key() {
		w.rotate = due
	}
	return nil
}

// hostsDiffer reports whether the map on the disk is not the one of the checkpoint. A kill may have left that beside it.
func (r *recovery) hostsDiffer() (bool, error) {
	current := filepath.Join(r.w.dir, HostsName)
	for _, path := range []string{current, current + newSuffix} {
		root, n, err := hostmap.Root(hostsIn(path))
		if err != nil || n != r.hosts.Hosts || root != r.hosts.Root {
			continue
		}
		if path == current {
			return false, nil
		}
		if _, err := os.Lstat(path); err == nil {
			return false, r.w.sys.rename(path, current)
		}
	}
	return true, nil
}
