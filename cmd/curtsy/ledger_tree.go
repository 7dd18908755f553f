package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
	"curtsy/storage/plainly"
	"curtsy/storage/proof"
)

// proofOf proves that the tree of a checkpoint, of the ledger in dir, continues the one of size from.
func proofOf(dir string, n *checkpoint.Note, from int64) (p tlog.TreeProof, err error) {
	err = withTree(dir, n, func(r tlog.HashReader) error {
		p, err = tree.Consistency(r, from, n.Size)
		return err
	})
	return p, err
}

// rootOf is the root of a smaller tree of the same ledger.
func rootOf(dir string, n *checkpoint.Note, size int64) (root tlog.Hash, err error) {
	err = withTree(dir, n, func(r tlog.HashReader) error {
		g, err := tree.Resume(r, size)
		if err == nil {
			root = g.Root()
		}
		return err
	})
	return root, err
}

// withTree reads the tree of a checkpoint from its tiles. Where they are missing or torn, they are made anew of the
// lines, elsewhere: the crawl may run. Either way every hash is checked against the root of the checkpoint.
func withTree(dir string, n *checkpoint.Note, use func(tlog.HashReader) error) error {
	err := use(tree.Reader(dir, n.Size, n.Root))
	if !errors.Is(err, tree.ErrTiles) {
		return err
	}
	fresh, err := os.MkdirTemp("", "curtsy-tiles-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if _, err := tree.Rebuild(fresh, ledgerEntries(dir, n.Size)); err != nil {
		return err
	}
	if err := use(tree.Reader(fresh, n.Size, n.Root)); err != nil {
		return fmt.Errorf("%s: the lines do not match the checkpoint of %d: curtsy audit has details (%w)",
			dir, n.Size, err)
	}
	return nil
}

// linesMatch checks that the lines of the ledger in dir lead to the checkpoint, whatever its tiles are.
func linesMatch(ctx context.Context, dir string, n *checkpoint.Note) error {
	var grown tree.Growing
	first := ""
	for e, err := range ledger.Skim(dir) {
		switch {
		case err == nil:
			err = ctx.Err()
		case errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf("%w: %w", proof.ErrDamaged, err)
		}
		if err != nil {
			return err
		}
		if p := e.Problem; p != nil {
			if p.Fault == ledger.Changed && first == "" && p.Index < n.Size {
				first = fmt.Sprintf("segment %d line %d is the first that differs", p.Segment, p.Row)
			}
			continue
		}
		if e.Index >= n.Size {
			break
		}
		grown.Append(e.Hash)
	}
	switch of := fmt.Errorf("%w of %s", proof.ErrDamaged, plainly.Count(n.Size, "line")); {
	case first != "":
		return fmt.Errorf("%w: %s", of, first)
	case grown.Size() < n.Size:
		return fmt.Errorf("%w: it has %d", of, grown.Size())
	case grown.Root() != n.Root:
		return fmt.Errorf("%w: lines were changed", of)
	}
	return nil
}

// ledgerEntries are the hashes of the first lines of a ledger.
func ledgerEntries(dir string, size int64) iter.Seq2[tlog.Hash, error] {
	return func(yield func(tlog.Hash, error) bool) {
		for e, err := range ledger.Skim(dir) {
			switch {
			case err != nil:
				yield(tlog.Hash{}, err)
				return
			case e.Problem != nil:
				continue
			case e.Index >= size:
				return
			case !yield(e.Hash, nil):
				return
			}
		}
	}
}
