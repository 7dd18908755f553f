package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/plainly"
)

func newLedgerKey(std cli.Streams) *cobra.Command {
	var rotate, asJSON bool
	cmd := cli.Command("ledger key")
	cmd.Args = cli.NoArgs
	cmd.RunE = func(*cobra.Command, []string) error { return ledgerKey(rotate, asJSON, std) }
	cmd.Flags().BoolVar(&rotate, "rotate", false, "replace the key by a new one")
	cli.Group(cmd.Flags(), "Key")
	cli.JSONFlag(cmd, &asJSON, "print JSON, earlier keys and the notes of their rotations with it")
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
