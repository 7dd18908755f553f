package evidencecmd

import (
	"context"
	"crypto/x509"
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
	"curtsy/storage/witness/timestamp"
)

// lodging are the flags of ledger lodge, and what comes of them.
type lodging struct {
	witnesses, witnessKeys, authorities []string
	ca                                  string
	asJSON                              bool

	http  *http.Client
	dir   string // of the ledger
	note  *checkpoint.Note
	keys  []checkpoint.Key
	roots *x509.CertPool
}

func newLedgerLodge(std cli.Streams) *cobra.Command {
	var o lodging
	cmd := &cobra.Command{
		Use:   "lodge [flags] DIR",
		Short: "Have others confirm the latest checkpoint",
		Long: "Send the latest checkpoint of a crawl's ledger to witnesses, which cosign it if\n" +
			"it continues all that they have seen of this ledger, and to time-stamping\n" +
			"authorities, which state that it was there (RFC 3161). What they answer is\n" +
			"checked and kept beside the checkpoint, where curtsy audit finds it. From then\n" +
			"on nobody can change what the ledger says so far, the operator included. It\n" +
			"works while the crawl runs, too. The checkpoint with all its signatures is\n" +
			"printed on standard output.",
		Example: "  curtsy ledger lodge --witness http://127.0.0.1:7380 --witness-key KEY news\n" +
			"  curtsy ledger lodge --tsa https://tsa.example/ --tsa-ca tsa.pem news",
		Args: cli.OneDir,
		RunE: cli.Interruptible(func(ctx context.Context, args []string) error { return o.run(ctx, args[0], std) }),
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&o.witnesses, "witness", nil, "`URL` of a witness; repeatable")
	fs.StringArrayVar(&o.witnessKeys, "witness-key", nil, "verifier `KEY` of a witness; repeatable (default what each says of itself)")
	cli.Group(fs, "Witnesses")
	fs.StringArrayVar(&o.authorities, "tsa", nil, "`URL` of a time-stamping authority; repeatable")
	fs.StringVar(&o.ca, "tsa-ca", "", "`FILE` of certificates (PEM) that authorities are trusted by (default those of this system)")
	cli.Group(fs, "Time-stamps")
	cli.JSONFlag(cmd, &o.asJSON, "print JSON")
	return cmd
}

// LodgedJSON is what ledger lodge --json prints.
type LodgedJSON struct {
	Version int          `json:"version"`
	Origin  string       `json:"origin"`
	Size    int64        `json:"size"`
	Root    string       `json:"root"`
	Answers []AnswerJSON `json:"answers"`
}

// AnswerJSON is what one of those said that were asked.
type AnswerJSON struct {
	URL   string     `json:"url"`
	Kind  string     `json:"kind"` // witness or tsa
	Time  *time.Time `json:"time,omitempty"`
	By    string     `json:"by,omitempty"`
	Error string     `json:"error,omitempty"`
}

const (
	kindWitness   = "witness"
	kindAuthority = "tsa"
)

func (o *lodging) run(ctx context.Context, dir string, std cli.Streams) error {
	if err := o.prepare(dir); err != nil {
		return err
	}
	defer o.http.CloseIdleConnections()
	out := LodgedJSON{1, o.note.Origin, o.note.Size, o.note.Root.String(), []AnswerJSON{}}
	fmt.Fprintf(std.Err, "checkpoint of %s\n", plainly.Count(o.note.Size, "line"))
	failed := 0
	ask := func(kind, url, word string, one func(context.Context, string) (time.Time, string, error)) {
		a := AnswerJSON{URL: url, Kind: kind}
		at, by, err := one(ctx, url)
		if err != nil {
			failed++
			a.Error = plainly.Error(said(err))
			fmt.Fprintf(std.Err, "%s: %s\n", plainly.OneLine(url), plainly.OneLine(a.Error))
		} else {
			a.Time, a.By = &at, by
			when := at.UTC().Format(time.RFC3339)
			fmt.Fprintf(std.Err, "%s: %s at %s by %s\n", plainly.OneLine(url), word, when, plainly.OneLine(by))
		}
		out.Answers = append(out.Answers, a)
	}
	for _, url := range o.witnesses {
		ask(kindWitness, url, "cosigned", func(ctx context.Context, url string) (time.Time, string, error) {
			return o.cosign(ctx, url, std)
		})
	}
	for _, url := range o.authorities {
		ask(kindAuthority, url, "stamped", o.stamp)
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
	if len(o.witnesses)+len(o.authorities) == 0 {
		return cli.Usagef("nobody to lodge it with: give --witness URL or --tsa URL")
	}
	for _, u := range o.witnesses {
		if _, err := witness.NewClient(nil, u); err != nil {
			return cli.Usagef("--witness: %w", err)
		}
	}
	for _, u := range o.authorities {
		if at, err := url.Parse(u); err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
			return cli.Usagef("--tsa: %q is no URL of a time-stamping authority; write it like https://tsa.example/", u)
		}
	}
	for _, text := range o.witnessKeys {
		k, err := checkpoint.ParseKey(text)
		if err != nil {
			return cli.Usagef("--witness-key: %w", err)
		}
		o.keys = append(o.keys, k)
	}
	if o.ca != "" {
		pem, err := os.ReadFile(o.ca)
		if err != nil {
			return cli.Usagef("--tsa-ca: %w", err)
		}
		if o.roots = x509.NewCertPool(); !o.roots.AppendCertsFromPEM(pem) {
			return cli.Usagef("--tsa-ca: %s has no certificate in PEM", o.ca)
		}
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
func (o *lodging) cosign(ctx context.Context, url string, std cli.Streams) (at time.Time, by string, err error) {
	if len(o.note.Signatures) == 0 {
		return at, "", errors.New("the ledger is not signed, and a witness cosigns only what is: it had no key when the " +
			"crawl began")
	}
	c, err := witness.NewClient(o.http, url)
	if err != nil {
		return at, "", err
	}
	keys := o.keys
	if len(keys) == 0 {
		k, err := c.Key(ctx)
		if err != nil {
			return at, "", fmt.Errorf("%w; give the verifier key of the witness with --witness-key", said(err))
		}
		fmt.Fprintf(std.Err, "%s: says that its key is %s; pin it with --witness-key\n", plainly.OneLine(url), k.Cosigner())
		keys = []checkpoint.Key{k}
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
	for _, k := range keys {
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

// stamp has one authority stamp, and keeps its answer.
func (o *lodging) stamp(ctx context.Context, url string) (at time.Time, by string, err error) {
	a, err := timestamp.Ask(ctx, o.http, url, o.note.Text(), o.roots)
	switch {
	case errors.Is(err, timestamp.ErrUntrusted):
		return at, "", fmt.Errorf("%s stated it, and is not trusted (%w); give the certificates that it is trusted by with "+
			"--tsa-ca", a.Signer, timestamp.ErrUntrusted)
	case err != nil:
		return at, "", err
	}
	at, err = witness.KeepStamp(ctx, o.dir, o.note, a, o.roots)
	return at, a.Signer, err
}

// show prints the checkpoint as it is kept now.
func (o *lodging) show(out LodgedJSON, std cli.Streams) error {
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

// said makes the error of a client one that says what happened, without what was asked for.
func said(err error) error {
	u := (*url.Error)(nil)
	switch {
	case !errors.As(err, &u):
		return err
	case u.Timeout():
		return errors.New("no answer in time")
	}
	return u.Err
}
