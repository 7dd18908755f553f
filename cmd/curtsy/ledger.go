package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/tlog"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
	"curtsy/storage/plainly"
	"curtsy/storage/proof"
)

func newLedgerCheckpoint(std cli.Streams) *cobra.Command {
	var asJSON bool
	cmd := cli.Command("ledger checkpoint", cli.Flags{"json": &asJSON})
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return ledgerHead(cmd.Context(), args[0], asJSON, std) }
	return cmd
}

// headJSON is what ledger checkpoint --json prints.
type headJSON struct {
	Version    int      `json:"version"`
	Origin     string   `json:"origin"`
	Size       int64    `json:"size"`
	Root       string   `json:"root"`       // in hexadecimal digits
	Signatures []string `json:"signatures"` // names of the keys that stand under it; none is checked
	Note       string   `json:"note"`
}

func ledgerHead(ctx context.Context, dir string, asJSON bool, std cli.Streams) error {
	book := filepath.Join(dir, crawldir.LedgerName)
	if _, err := os.Stat(book); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		if err := crawldir.Require(dir); err != nil {
			return err
		}
		return crawldir.RequireWhole(dir)
	}
	n, err := ledger.Latest(book)
	switch {
	case errors.Is(err, ledger.ErrNoCheckpoint):
		return fmt.Errorf("%s: %w: the next run begins with one", book, ledger.ErrNoCheckpoint)
	case err != nil:
		return fmt.Errorf("%w; curtsy audit %s has details", err, plainly.Argument(dir))
	}
	if err := linesMatch(ctx, book, n); err != nil {
		return damagedLedger(err, dir)
	}
	names := []string{}
	for _, s := range n.Signatures {
		names = append(names, s.Name)
	}
	note := n.Marshal()
	if asJSON {
		return cli.WriteJSON(std.Out, headJSON{1, n.Origin, n.Size, hex.EncodeToString(n.Root[:]), names, string(note)})
	}
	signed := "not signed"
	if len(names) > 0 {
		signed = "signed by " + plainly.Lines(strings.Join(names, ", "))
	}
	fmt.Fprintf(std.Err, "%s, of %s\nstore it elsewhere, as a file or as %s;\nlater check it with curtsy audit --checkpoint FILE %s\n",
		signed, plainly.Count(n.Size, "line"), n.Short(), plainly.Argument(dir))
	_, err = std.Out.Write(note)
	return err
}

func newLedgerKey(std cli.Streams) *cobra.Command {
	var rotate, asJSON bool
	cmd := cli.Command("ledger key", cli.Flags{"rotate": &rotate, "json": &asJSON})
	cmd.RunE = func(*cobra.Command, []string) error { return ledgerKey(rotate, asJSON, std) }
	return cmd
}

// keyJSON is what ledger key --json prints.
type keyJSON struct {
	Version int          `json:"version"`
	Key     string       `json:"key"`
	Earlier []earlierKey `json:"earlier"` // the oldest first
}

// earlierKey is a key that another took the place of.
type earlierKey struct {
	Key   string    `json:"key"`
	Until time.Time `json:"until"`
	Note  string    `json:"note"` // of the rotation, signed by this key and the next
}

func ledgerKey(rotate, asJSON bool, std cli.Streams) error {
	path, err := crawldir.LedgerKey.Path()
	if err != nil {
		return err
	}
	secret, err := crawldir.LedgerKey.Make(path)
	if err != nil {
		return err
	}
	signer, err := checkpoint.NewSigner(secret)
	if err != nil {
		return err
	}
	key := signer.Key()
	if rotate {
		r, err := crawldir.Rotate(path, secret, time.Now())
		if err != nil {
			return err
		}
		key = r.New
		fmt.Fprintf(std.Err, "%s took the place of %s, whose secret is destroyed\n", r.New.Name(), r.Old.Name())
		fmt.Fprintln(std.Err, "publish it for those who check your ledgers; curtsy identity init writes it on your page")
	}
	led, err := crawldir.Rotations(path, key)
	if err != nil {
		return err
	}
	if asJSON {
		out := keyJSON{1, key.String(), []earlierKey{}}
		for _, r := range led {
			out.Earlier = append(out.Earlier, earlierKey{r.Old.String(), r.At, string(r.Note)})
		}
		return cli.WriteJSON(std.Out, out)
	}
	if len(led) > 0 && !rotate {
		fmt.Fprintf(std.Err, "%s before it; --json shows how each gave its place to the next\n", plainly.Count(len(led), "key"))
	}
	_, err = fmt.Fprintln(std.Out, key)
	return err
}

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
