package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/tlog"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
	"curtsy/storage/plainly"
	"curtsy/storage/proof"
	"curtsy/storage/witness"
)

func newLedgerCheckpoint(std cli.Streams) *cobra.Command {
	var asJSON bool
	cmd := cli.Command("ledger checkpoint", cli.Flags{"json": &asJSON})
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return ledgerHead(cmd.Context(), args[0], asJSON, std) }
	return cmd
}

type headJSON struct {
	Version    int      `json:"version"`
	Origin     string   `json:"origin"`
	Size       int64    `json:"size"`
	Root       string   `json:"root"`       // in hexadecimal digits
	Signatures []string `json:"signatures"` // names of the keys; none is checked
	Note       string   `json:"note"`
}

func ledgerHead(ctx context.Context, dir string, asJSON bool, std cli.Streams) error {
	book := filepath.Join(dir, crawldir.LedgerName)
	if _, err := os.Stat(book); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return crawldir.RequireWhole(dir)
	}
	n, err := ledger.Latest(book)
	switch {
	case errors.Is(err, ledger.ErrNoCheckpoint):
		return noCheckpoint(book)
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

func noCheckpoint(book string) error {
	return fmt.Errorf("%s: %w: the next run begins with one", book, ledger.ErrNoCheckpoint)
}

func newLedgerKey(std cli.Streams) *cobra.Command {
	var rotate, asJSON bool
	cmd := cli.Command("ledger key", cli.Flags{"rotate": &rotate, "json": &asJSON})
	cmd.RunE = func(*cobra.Command, []string) error { return ledgerKey(rotate, asJSON, std) }
	return cmd
}

type keyJSON struct {
	Version int          `json:"version"`
	Key     string       `json:"key"`
	Earlier []earlierKey `json:"earlier"` // the oldest first
}

// earlierKey is a key that a rotation replaced.
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

// rootOf returns the root of the ledger's tree of a smaller size.
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

// withTree calls use with the tree of a checkpoint.
func withTree(dir string, n *checkpoint.Note, use func(tlog.HashReader) error) error {
	temp, err := os.MkdirTemp("", "curtsy-tiles-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err = use(ledger.Hashes(dir, temp, n)); errors.Is(err, tree.ErrTiles) {
		return fmt.Errorf("%s: the lines do not match the checkpoint of %d: curtsy audit has details (%w)", dir, n.Size, err)
	}
	return err
}

// linesMatch checks that the lines of the ledger in dir lead to the checkpoint. It does not read the tiles.
func linesMatch(ctx context.Context, dir string, n *checkpoint.Note) error {
	wrong, err := ledger.Differ(ctx, dir, n.Checkpoint)
	var unread *fs.PathError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &unread) && !errors.Is(err, fs.ErrNotExist): // the lines are unknown
		return err
	case err != nil:
		return fmt.Errorf("%w of %s: %w", proof.ErrDamaged, plainly.Count(n.Size, "line"), err)
	case wrong != "":
		return fmt.Errorf("%w of %s: %s", proof.ErrDamaged, plainly.Count(n.Size, "line"), wrong)
	}
	return nil
}

// lodging is one ledger submit.
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

type lodgedJSON struct {
	Version int          `json:"version"`
	Origin  string       `json:"origin"`
	Size    int64        `json:"size"`
	Root    string       `json:"root"`
	Answers []answerJSON `json:"answers"`
}

// answerJSON is the response of one witness.
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

// latestOf returns the ledger folder of a crawl directory, and its latest checkpoint.
func latestOf(dir string) (string, *checkpoint.Note, error) {
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

// cosign has one witness cosign the checkpoint, and keeps the cosignature.
func (o *lodging) cosign(ctx context.Context, url string) (at time.Time, by string, err error) {
	if len(o.note.Signatures) == 0 {
		return at, "", errors.New("the ledger is not signed, and a witness cosigns only signed ledgers: there was no key when the " +
			"crawl started")
	}
	c, err := witness.NewClient(o.http, url)
	if err != nil {
		return at, "", err
	}
	signatures, err := c.Cosign(ctx, o.note, func(from int64) (p tlog.TreeProof, err error) {
		err = withTree(o.dir, o.note, func(r tlog.HashReader) error {
			p, err = tree.Consistency(r, from, o.note.Size)
			return err
		})
		return p, err
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

// show prints the checkpoint with its cosignatures.
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

// explainedError strips the request from the error of an HTTP client.
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

// bundledCheckpoint is the checkpoint's name in a bundle.
const bundledCheckpoint = "checkpoint"

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

type comparedJSON struct {
	Version  int              `json:"version"`
	Relation witness.Relation `json:"relation"`
	Common   *int64           `json:"common,omitempty"` // entries of both, if known
	Views    [2]viewJSON      `json:"views"`
}

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
		fmt.Fprint(std.Err, text.Render("compare", out))
		if v.Relation == witness.Fork {
			_, err = fmt.Fprintf(std.Out, "%s\n%s", out.Views[0].Note, out.Views[1].Note)
		}
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

// views reads both ledgers. It requests the log of the other one from a witness.
func (o *comparing) views(ctx context.Context, args [2]string) (views [2]witness.View, err error) {
	origin, later := o.origin, []int{}
	for i, arg := range args {
		if strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://") {
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

// cosignedBy returns the last checkpoint of a log that a witness cosigned.
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
		if _, there := os.Stat(filepath.Join(arg, ledger.CheckpointName)); there == nil { // only a ledger
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

// checkpointIn reads a checkpoint, or the one in a bundle (a ZIP file).
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
