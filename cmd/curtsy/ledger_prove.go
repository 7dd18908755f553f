package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/plainly"
	"curtsy/storage/proof"
)

func newLedgerProve(std cli.Streams) *cobra.Command {
	var host, to string
	cmd := cli.Command("ledger prove", cli.Flags{"host": &host, "output": &to})
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error { return ledgerProve(ctx, args[0], host, to, std) })
	cmd.Flags().SortFlags = false
	return cmd
}

// hostNamed reads the host that is named, as a name or as a URL.
func hostNamed(name string) (string, error) {
	if name == "" {
		return "", cli.Usagef("name the host to prove: curtsy ledger prove --host NAME DIR")
	}
	raw := name
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := cli.URL(raw)
	if err != nil {
		return "", cli.Usagef("--host %s is not a host: write it like example.org", plainly.Argument(name))
	}
	host := hostmap.Host(u.String())
	if p, err := url.Parse(raw); err != nil || p.Port() != "" {
		return "", cli.Usagef("--host %s: a proof is of all schemes and ports of a host: write --host %s", plainly.Argument(name), plainly.Argument(host))
	}
	return host, nil
}

func ledgerProve(ctx context.Context, dir, name, to string, std cli.Streams) error {
	host, err := hostNamed(name)
	if err != nil {
		return err
	}
	if to == "" {
		to = strings.Trim(strings.ReplaceAll(host, ":", "-"), "[]") + ".zip"
	}
	if err := cli.MayWrite("--output", to, userfile.Kind{}); err != nil {
		return err
	}
	book := filepath.Join(dir, crawldir.LedgerName)
	if _, err := os.Stat(book); err != nil {
		if err := crawldir.Require(dir); err != nil {
			return err
		}
		return crawldir.RequireWhole(dir)
	}
	if _, err := control.Connect(ctx, dir); err == nil {
		fmt.Fprintln(std.Err, "the crawl is running: the proof ends at its last checkpoint")
	}
	temp, err := os.MkdirTemp("", "curtsy-prove-")
	if err != nil {
		return fmt.Errorf("prove: %w", err)
	}
	defer os.RemoveAll(temp)
	c := proof.Crawl{Ledger: book, Archive: filepath.Join(dir, crawldir.ArchiveName), TempDir: temp}
	if c.Index, err = crawldir.IndexFiles(dir); err != nil {
		fmt.Fprintf(std.Err, "no index of the archive (%v): heads and robots.txt are left out; curtsy warc index %s makes it\n", plainly.Error(err), plainly.Argument(dir))
	}
	g, err := proof.Of(ctx, c, host)
	switch {
	case errors.Is(err, ledger.ErrNoCheckpoint):
		return fmt.Errorf("%s: %w: the next run begins with one", book, ledger.ErrNoCheckpoint)
	case err != nil:
		return damagedLedger(err, dir)
	}
	defer g.Close()
	g.Software = "curtsy/" + crawldir.Version
	var made *proof.Made
	err = durable.Output(to, func(w io.Writer) error {
		made, err = proof.Make(ctx, w, g.Source)
		return err
	})
	if err != nil {
		return damagedLedger(err, dir)
	}
	for _, note := range g.Notes {
		fmt.Fprint(std.Err, text.Wrap(plainly.OneLine(note)+"\n"))
	}
	return proveSaid(std, to, host, made)
}

// damagedLedger says who names the damage.
func damagedLedger(err error, dir string) error {
	if errors.Is(err, proof.ErrDamaged) {
		return fmt.Errorf("%w; curtsy audit %s has details", err, plainly.Argument(dir))
	}
	return err
}

// proveSaid says what was made of what.
func proveSaid(std cli.Streams, to, host string, made *proof.Made) error {
	fi, err := os.Stat(to)
	if err != nil {
		return fmt.Errorf("prove: %w", err)
	}
	_, err = io.WriteString(std.Err, text.Wrap(text.Render("prove", struct {
		*proof.Made
		To, Host string
		Size     int64
	}{made, to, host, fi.Size()})))
	return err
}
