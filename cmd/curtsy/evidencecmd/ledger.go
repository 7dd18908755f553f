package evidencecmd

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
)

// Ledger is the group of commands about the ledger of a crawl.
func Ledger(std cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "See the head of a crawl's ledger",
		Args:  cli.KnownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLedgerHead(std))
	return cmd
}

func newLedgerHead(std cli.Streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "head [flags] DIR",
		Short: "Print the hash that stands for the whole ledger",
		Long: "Print the hash that stands for every line of a crawl's ledger, to lodge it where\n" +
			"you cannot change it: with the site owner, in a mail, in a log of somebody else.\n" +
			"Whoever has it can prove later that no line before it was changed. It works\n" +
			"while the crawl runs, too: the hash then stands for the lines written so far.",
		Example: "  curtsy ledger head news",
		Args:    cli.OneDir,
		RunE:    func(_ *cobra.Command, args []string) error { return ledgerHead(args[0], asJSON, std) },
	}
	cli.JSONFlag(cmd, &asJSON, "print JSON")
	return cmd
}

// HeadJSON is what ledger head --json prints.
type HeadJSON struct {
	Version int         `json:"version"`
	Chain   ledger.Hash `json:"chain"`
	Lines   int64       `json:"lines"`
	Segment int         `json:"segment"`
	Line    int         `json:"line"`
	Ended   bool        `json:"ended"`
	Signed  bool        `json:"signed"`
	Key     string      `json:"key,omitempty"`
	Time    *time.Time  `json:"time,omitempty"`
}

func ledgerHead(dir string, asJSON bool, std cli.Streams) error {
	if _, err := os.Stat(filepath.Join(dir, crawldir.LedgerName)); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		if err := crawldir.Require(dir); err != nil {
			return err
		}
		return crawldir.RequireWhole(dir)
	}
	p, err := ledger.Head(filepath.Join(dir, crawldir.LedgerName))
	switch {
	case errors.Is(err, ledger.ErrNoChain):
		return fmt.Errorf("%s: %w: the next line of a run begins one", filepath.Join(dir, crawldir.LedgerName), err)
	case err != nil:
		return fmt.Errorf("%w; curtsy audit %s says more", err, plainly.Argument(dir))
	}
	if asJSON {
		out := HeadJSON{1, p.Chain, p.Lines, p.Segment, p.Row, !p.Runs, p.Key != nil, hex.EncodeToString(p.Key), nil}
		if !p.Time.IsZero() {
			out.Time = &p.Time
		}
		return cli.WriteJSON(std.Out, out)
	}
	what := "the head of an ended run"
	if p.Runs {
		what = "the last line so far: the crawl runs, or was killed"
	}
	signed := "not signed"
	if p.Key != nil {
		signed = "signed by the key " + ledger.Fingerprint(p.Key)
	}
	fmt.Fprintf(std.Err, "%s, %s, over %s\nlodge it elsewhere; later check it with curtsy audit --head %s %s\n", what, signed, plainly.Count(p.Lines, "decision"), p.Chain, plainly.Argument(dir))
	_, err = fmt.Fprintln(std.Out, p.Chain)
	return err
}
