package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/tlog"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/plainly"
	"curtsy/storage/witness"
)

// lodging are the flags of ledger submit, and what comes of them.
type lodging struct {
	witnesses, witnessKeys []string
	asJSON                 bool

	http *http.Client
	dir  string // of the ledger
	note *checkpoint.Note
	keys []checkpoint.Key
}

func newLedgerSubmit(std cli.Streams) *cobra.Command {
	var o lodging
	cmd := cli.Command("ledger submit", cli.Flags{"witness": &o.witnesses, "witness-key": &o.witnessKeys, "json": &o.asJSON})
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error { return o.run(ctx, args[0], std) })
	return cmd
}

// lodgedJSON is what ledger submit --json prints.
type lodgedJSON struct {
	Version int          `json:"version"`
	Origin  string       `json:"origin"`
	Size    int64        `json:"size"`
	Root    string       `json:"root"`
	Answers []answerJSON `json:"answers"`
}

// answerJSON is what one of those said that were asked.
type answerJSON struct {
	URL   string     `json:"url"`
	Kind  string     `json:"kind"` // witness
	Time  *time.Time `json:"time,omitempty"`
	By    string     `json:"by,omitempty"`
	Error string     `json:"error,omitempty"`
}

func (o *lodging) run(ctx context.Context, dir string, std cli.Streams) error {
	if err := o.prepare(dir); err != nil {
		return err
	}
	defer o.http.CloseIdleConnections()
	out := lodgedJSON{1, o.note.Origin, o.note.Size, o.note.Root.String(), []answerJSON{}}
	fmt.Fprintf(std.Err, "checkpoint of %s\n", plainly.Count(o.note.Size, "line"))
	failed := 0
	for _, url := range o.witnesses {
		a := answerJSON{URL: url, Kind: "witness"}
		at, by, err := o.cosign(ctx, url)
		if err != nil {
			failed++
			a.Error = plainly.Error(explainedError(err))
			fmt.Fprintf(std.Err, "%s: %s\n", plainly.OneLine(url), plainly.OneLine(a.Error))
		} else {
			a.Time, a.By = &at, by
			when := at.UTC().Format(time.RFC3339)
			fmt.Fprintf(std.Err, "%s: cosigned at %s by %s\n", plainly.OneLine(url), when, plainly.OneLine(by))
		}
		out.Answers = append(out.Answers, a)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := o.show(out, std); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d did not confirm the checkpoint", failed, len(out.Answers))
	}
	return nil
}

// prepare reads what the flags name, and the checkpoint.
func (o *lodging) prepare(dir string) (err error) {
	if len(o.witnesses) == 0 || len(o.witnessKeys) == 0 {
		return cli.Usagef("give each witness with --witness URL, and its verifier key with --witness-key KEY")
	}
	for _, u := range o.witnesses {
		if _, err := witness.NewClient(nil, u); err != nil {
			return cli.Usagef("--witness: %w", err)
		}
	}
	for _, text := range o.witnessKeys {
		k, err := checkpoint.ParseKey(text)
		if err != nil {
			return cli.Usagef("--witness-key: %w", err)
		}
		o.keys = append(o.keys, k)
	}
	o.http = witness.NewHTTPClient()
	o.dir, o.note, err = latestOf(dir)
	return err
}

// latestOf is the latest checkpoint of a crawl directory, and the folder of its ledger.
func latestOf(dir string) (string, *checkpoint.Note, error) {
	if err := crawldir.Require(dir); err != nil {
		return "", nil, err
	}
	if err := crawldir.RequireWhole(dir); err != nil {
		return "", nil, err
	}
	in := filepath.Join(dir, crawldir.LedgerName)
	n, err := ledger.Latest(in)
	if errors.Is(err, ledger.ErrNoCheckpoint) {
		return "", nil, fmt.Errorf("%s: %w: one is made after ten minutes of a run, and at its end", in, ledger.ErrNoCheckpoint)
	}
	return in, n, err
}

// cosign has one witness cosign, and keeps what it signed.
func (o *lodging) cosign(ctx context.Context, url string) (at time.Time, by string, err error) {
	if len(o.note.Signatures) == 0 {
		return at, "", errors.New("the ledger is not signed, and a witness cosigns only signed ledgers: there was no key when the " +
			"crawl started")
	}
	c, err := witness.NewClient(o.http, url)
	if err != nil {
		return at, "", err
	}
	signatures, err := c.Cosign(ctx, o.note, func(from int64) (tlog.TreeProof, error) {
		return proofOf(o.dir, o.note, from)
	})
	var status *witness.StatusError
	switch {
	case errors.As(err, &status) && status.Status == http.StatusUnprocessableEntity:
		return at, "", fmt.Errorf("%w; curtsy ledger compare shows both", err)
	case err != nil:
		return at, "", err
	}
	err = errors.New("its cosignature is by none of the keys given with --witness-key")
	for _, k := range o.keys {
		for _, s := range signatures {
			if s.Name != k.Name() {
				continue
			}
			if at, err = witness.Keep(ctx, o.dir, o.note, k, s); err == nil {
				return at, k.Name(), nil
			}
		}
	}
	return at, "", err
}

// show prints the checkpoint as it is kept now.
func (o *lodging) show(out lodgedJSON, std cli.Streams) error {
	if o.asJSON {
		return cli.WriteJSON(std.Out, out)
	}
	n := o.note
	if b, err := os.ReadFile(ledger.CheckpointPath(o.dir, n.Size)); err == nil {
		if kept, err := checkpoint.Parse(b); err == nil {
			n = kept
		}
	}
	_, err := std.Out.Write(n.Marshal())
	return err
}

// explainedError makes the error of a client one that says what happened, without what was asked for.
func explainedError(err error) error {
	u := (*url.Error)(nil)
	switch {
	case !errors.As(err, &u):
		return err
	case u.Timeout():
		return errors.New("no answer in time")
	}
	return u.Err
}
