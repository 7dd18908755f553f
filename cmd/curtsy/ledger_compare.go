package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/tlog"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/plainly"
	"curtsy/storage/proof"
	"curtsy/storage/witness"
)

// bundledCheckpoint is the member of a bundle that is its checkpoint.
const bundledCheckpoint = "checkpoint"

// comparing are the flags of ledger compare.
type comparing struct {
	origin, key string
	asJSON      bool
}

func newLedgerCompare(std cli.Streams) *cobra.Command {
	var o comparing
	cmd := cli.Command("ledger compare", cli.Flags{"origin": &o.origin, "key": &o.key, "json": &o.asJSON})
	cmd.Args = cli.Exactly(2, "two ledgers")
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error { return o.run(ctx, [2]string(args), std) })
	return cmd
}

// comparedJSON is what ledger compare --json prints.
type comparedJSON struct {
	Version  int              `json:"version"`
	Relation witness.Relation `json:"relation"`
	Common   *int64           `json:"common,omitempty"` // entries that both have, where that is known
	Views    [2]viewJSON      `json:"views"`
}

// viewJSON is one of the two.
type viewJSON struct {
	Name   string `json:"name"`
	Origin string `json:"origin"`
	Size   int64  `json:"size"`
	Root   string `json:"root"`
	Signed *bool  `json:"signed,omitempty"` // by the key that was given
	Note   string `json:"note"`
}

func (o *comparing) run(ctx context.Context, args [2]string, std cli.Streams) error {
	var key checkpoint.Key
	if o.key != "" {
		var err error
		if key, err = keyAt("--key", o.key); err != nil {
			return err
		}
	}
	views, err := o.views(ctx, args)
	if err != nil {
		return err
	}
	v, err := witness.Relate(views[0], views[1])
	if err != nil {
		return err
	}
	out := comparedJSON{Version: 1, Relation: v.Relation}
	if v.Common >= 0 {
		out.Common = &v.Common
	}
	for i, view := range views {
		n := view.Note
		out.Views[i] = viewJSON{args[i], n.Origin, n.Size, n.Root.String(), nil, string(n.Marshal())}
		if !key.IsZero() {
			signed := n.SignedBy(key)
			out.Views[i].Signed = &signed
		}
	}
	if o.asJSON {
		err = cli.WriteJSON(std.Out, out)
	} else {
		err = out.print(std)
	}
	switch {
	case err != nil:
		return err
	case v.Relation == witness.Fork:
		return cli.Silent(cli.ExitFound)
	case v.Relation == witness.Otherwise, v.Relation == witness.Unknown:
		return cli.Silent(cli.ExitFailed)
	}
	return nil
}

// print says it in words; the notes of a fork go to standard output.
func (c comparedJSON) print(std cli.Streams) error {
	fmt.Fprint(std.Err, text.Render("compare", c))
	if c.Relation != witness.Fork {
		return nil
	}
	_, err := fmt.Fprintf(std.Out, "%s\n%s", c.Views[0].Note, c.Views[1].Note)
	return err
}

// views reads both. A witness is asked for the log that the other one is of.
func (o *comparing) views(ctx context.Context, args [2]string) (views [2]witness.View, err error) {
	origin, later := o.origin, []int{}
	for i, arg := range args {
		if isURL(arg) {
			later = append(later, i)
			continue
		}
		if views[i], err = viewOf(ctx, arg); err != nil {
			return views, err
		}
		if origin == "" {
			origin = views[i].Note.Origin
		}
	}
	for _, i := range later {
		if origin == "" {
			return views, cli.Usagef("both are witnesses, who may follow many ledgers: select one with --origin")
		}
		n, err := cosignedBy(ctx, args[i], origin)
		if err != nil {
			return views, fmt.Errorf("%s: %w", args[i], explainedError(err))
		}
		views[i] = witness.View{Note: n}
	}
	return views, nil
}

func isURL(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://")
}

// cosignedBy is what a witness cosigned last of a log.
func cosignedBy(ctx context.Context, arg, origin string) (*checkpoint.Note, error) {
	h := witness.NewHTTPClient()
	defer h.CloseIdleConnections()
	c, err := witness.NewClient(h, arg)
	if err != nil {
		return nil, err
	}
	return c.Latest(ctx, origin)
}

// viewOf reads a crawl directory, a bundle or a checkpoint.
func viewOf(ctx context.Context, arg string) (witness.View, error) {
	if fi, err := os.Stat(arg); err == nil && fi.IsDir() {
		dir, n, err := arg, (*checkpoint.Note)(nil), error(nil)
		if _, there := os.Stat(filepath.Join(arg, ledger.CheckpointName)); there == nil { // a copy of the ledger alone
			n, err = ledger.Latest(dir)
		} else {
			dir, n, err = latestOf(arg)
		}
		if err == nil {
			err = linesMatch(ctx, dir, n)
		}
		if errors.Is(err, proof.ErrDamaged) {
			return witness.View{}, &cli.Error{Code: cli.ExitFound, Err: fmt.Errorf("%s: %w", plainly.OneLine(arg), err)}
		}
		if err != nil {
			return witness.View{}, err
		}
		return witness.View{Note: n, Root: func(size int64) (tlog.Hash, error) { return rootOf(dir, n, size) }}, nil
	}
	b, err := checkpointIn(arg)
	if err != nil {
		return witness.View{}, err
	}
	n, err := checkpoint.Parse(b)
	if err != nil {
		return witness.View{}, fmt.Errorf("%s is not a checkpoint: %w", arg, errors.Unwrap(err))
	}
	return witness.View{Note: n}, nil
}

// checkpointIn reads a file that is a checkpoint, or a bundle (a ZIP file) that has one.
func checkpointIn(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cli.Absent(err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, checkpoint.MaxNote+1))
	if err != nil || !bytes.HasPrefix(b, []byte("PK\x03\x04")) {
		return b, err
	}
	z, err := zip.NewReader(f, fi.Size())
	if err != nil {
		return nil, fmt.Errorf("%s is a damaged ZIP file", path)
	}
	member, err := z.Open(bundledCheckpoint)
	if err != nil {
		return nil, fmt.Errorf("%s is a ZIP file, and no bundle of a ledger: it has no member %s", path, bundledCheckpoint)
	}
	defer member.Close()
	b, err = io.ReadAll(io.LimitReader(member, checkpoint.MaxNote+1))
	if err != nil {
		return nil, fmt.Errorf("%s: its member %s is damaged", path, bundledCheckpoint)
	}
	return b, nil
}
