package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/plainly"
)

func newLedgerCheckpoint(std cli.Streams) *cobra.Command {
	var asJSON bool
	cmd := cli.Command("ledger checkpoint")
	cmd.Args = cli.OneDir
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return ledgerHead(cmd.Context(), args[0], asJSON, std) }
	cli.JSONFlag(cmd, &asJSON, "print JSON")
	return cmd
}

// latest is the latest checkpoint of the crawl in dir: as it tells it, if it runs.
func latest(ctx context.Context, dir string) (*checkpoint.Note, error) {
	if r, err := control.Connect(ctx, dir); err == nil {
		if n, err := r.Checkpoint(ctx); err == nil {
			return n, nil
		}
	}
	return ledger.Latest(filepath.Join(dir, crawldir.LedgerName)) // which is the same, or says what is wrong
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
	n, err := latest(ctx, dir)
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
