package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier/durable"
	"curtsy/storage/audit/accesslog"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/plainly"
	"curtsy/storage/proof"
)

type verifying struct {
	known knownLedgers
	logs  []string
	skew  crawldir.Duration
	json  bool
}

func newLedgerVerify(std cli.Streams) *cobra.Command {
	v := verifying{skew: crawldir.Duration(logSkew)}
	cmd := cli.Command("ledger verify", cli.Flags{
		"key": &v.known.key, "witness-key": &v.known.witnesses, "access-log": &v.logs, "clock-skew": &v.skew, "json": &v.json,
	})
	cmd.Args = cli.Exactly(1, "one bundle")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return v.known.given(cmd.Flags()) }
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error { return v.run(ctx, args[0], std) })
	cmd.Flags().SortFlags = false
	return cmd
}

func (v *verifying) run(ctx context.Context, path string, std cli.Streams) error {
	o, err := v.options(std)
	if err != nil {
		return err
	}
	if err := userfile.Readable(path); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return cli.Absent(fmt.Errorf("verify: %w", err))
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	temp, err := os.MkdirTemp("", "curtsy-verify-")
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	defer os.RemoveAll(temp)
	o.TempDir = temp
	r, err := proof.Verify(ctx, f, fi.Size(), o)
	if errors.Is(err, proof.ErrNoBundle) {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err != nil {
		return err
	}
	if v.json {
		if err := cli.WriteJSON(std.Out, r); err != nil {
			return err
		}
	} else if _, err := io.WriteString(std.Out, text.Wrap(text.Render("proof", proofText{r}))); err != nil {
		return err
	}
	if !r.Holds {
		return cli.Silent(cli.ExitFound)
	}
	return nil
}

func (v *verifying) options(std cli.Streams) (o proof.Options, err error) {
	key, witnesses, err := v.known.trusted()
	if err != nil {
		return o, err
	}
	o = proof.Options{Key: key, Witnesses: witnesses, Skew: max(time.Duration(v.skew), 1), Stdin: std.In}
	for _, path := range v.logs {
		if path == "" {
			return o, cli.Usagef("--access-log is empty: name the site's access log")
		}
		if _, err := os.Stat(path); err != nil && path != accesslog.Stdin {
			return o, fmt.Errorf("--access-log: %w", err)
		}
		if err := userfile.Readable(path); err != nil {
			return o, cli.Usagef("--access-log: %w", err)
		}
		o.Logs = append(o.Logs, accesslog.Log{Path: path})
	}
	return o, nil
}

var proofLevels = map[proof.Level]string{
	proof.SelfConsistent: "self-consistent: its parts agree; its author could have forged all of them",
	proof.Signed:         "signed by a key that you know",
	proof.Cosigned:       "cosigned by a witness that you know: it was not rewritten since",
	proof.Confirmed:      "confirmed by the site's own access log",
}

type proofText struct{ *proof.Result }

func (r proofText) About() string { return cmp.Or(r.Host, "URLs without a host") }

func (r proofText) Reached() string { return proofLevels[r.Level] }

// MoreFindings are the findings that the result counts and does not hold.
func (r proofText) MoreFindings() (all []string) {
	kept := map[proof.Code]int64{}
	for _, f := range r.Findings {
		kept[f.Code]++
	}
	for _, f := range r.Findings {
		if more := r.Counts[f.Code] - kept[f.Code]; more > 0 {
			all = append(all, fmt.Sprintf("%s: %d more", f.Code, more))
			kept[f.Code] += more
		}
	}
	return all
}

// UpTo is the part of the log in which the proof rules out other lines; "" for all.
func (r proofText) UpTo() string {
	if r.Covered >= r.Size-1 {
		return ""
	}
	return fmt.Sprintf(" among its first %d entries", r.Covered)
}

// Outside counts the requests that an access log cannot confirm.
func (r proofText) Outside() int64 { return r.Log.Uncovered + r.Log.Unanswered + r.Log.Outside }

func newLedgerProve(std cli.Streams) *cobra.Command {
	var host, to string
	cmd := cli.Command("ledger prove", cli.Flags{"host": &host, "output": &to})
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error { return ledgerProve(ctx, args[0], host, to, std) })
	cmd.Flags().SortFlags = false
	return cmd
}

// hostNamed parses a host or a URL.
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
		return noCheckpoint(book)
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

// damagedLedger adds the command that reports the damage.
func damagedLedger(err error, dir string) error {
	if errors.Is(err, proof.ErrDamaged) {
		return fmt.Errorf("%w; curtsy audit %s has details", err, plainly.Argument(dir))
	}
	return err
}
