package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/storage/audit/accesslog"
	"curtsy/storage/proof"
)

// verifying is one invocation of ledger verify.
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

// options reads the flags.
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

// proofLevels say what the levels mean.
var proofLevels = map[proof.Level]string{
	proof.SelfConsistent: "self-consistent: its parts agree; its author could have forged all of them",
	proof.Signed:         "signed by a key that you know",
	proof.Cosigned:       "cosigned by a witness that you know: it was not rewritten since",
	proof.Confirmed:      "confirmed by the site's own access log",
}

// proofText is what the template of a proof takes.
type proofText struct{ *proof.Result }

// About is the host that the proof is of.
func (r proofText) About() string { return cmp.Or(r.Host, "URLs without a host") }

// Reached is the level in words.
func (r proofText) Reached() string { return proofLevels[r.Level] }

// MoreFindings are those that were counted and not kept.
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

// UpTo says of which part of the log a proof is that it has no other lines, if not of all.
func (r proofText) UpTo() string {
	if r.Covered >= r.Size-1 {
		return ""
	}
	return fmt.Sprintf(" among its first %d entries", r.Covered)
}

// Outside counts the requests that a log cannot confirm.
func (r proofText) Outside() int64 { return r.Log.Uncovered + r.Log.Unanswered + r.Log.Outside }
