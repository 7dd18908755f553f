package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/audit/reconcile"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/plainly"
)

// knownLedgers is what an auditor knows, and who is believed.
type knownLedgers struct {
	key       string   // FILE or the key
	heads     []string // FILE or SIZE:HEX
	witnesses []string // FILE or the key
}

func (k *knownLedgers) flags(f *pflag.FlagSet) {
	f.StringVar(&k.key, "key", "", "`FILE|KEY` the operator's verifier key, from curtsy ledger key; it, or a key that replaced it, must have signed the ledger")
	f.StringArrayVar(&k.heads, "checkpoint", nil, "`FILE|SIZE:HEX` a checkpoint stored elsewhere, from curtsy ledger checkpoint; the ledger must contain it; repeatable")
	f.StringArrayVar(&k.witnesses, "witness-key", nil, "`FILE|KEY` verifier key of a witness that must have cosigned a checkpoint; repeatable")
}

// given refuses what is given and empty: an empty variable of a shell must not pass for a check.
func (k *knownLedgers) given(f *pflag.FlagSet) error {
	for name, of := range map[string][]string{"key": {k.key}, "checkpoint": k.heads, "witness-key": k.witnesses} {
		for _, s := range of {
			if s == "" && f.Changed(name) {
				return cli.Usagef("--%s is empty: leave it out, or give a value", name)
			}
		}
	}
	return nil
}

// any reports whether something is known.
func (k *knownLedgers) any() bool {
	return k.key != "" || len(k.heads)+len(k.witnesses) > 0
}

var errNoLedger = cli.Usagef("--key, --checkpoint and --witness-key need a ledger: give the crawl directory or the WACZ file that holds it")

// read puts what is known into the options of the comparison with a ledger.
func (k *knownLedgers) read(l *reconcile.Options) error {
	if l.Dir == "" && k.any() {
		return errNoLedger
	}
	key, witnesses, err := k.trusted()
	if err != nil {
		return err
	}
	l.Key, l.Witnesses = key, witnesses
	for _, s := range k.heads {
		text, err := textAt("--checkpoint", s)
		if err != nil {
			return err
		}
		h, err := checkpoint.ParseKept(text)
		if err != nil && text == s && !strings.Contains(s, ":") {
			return cli.Usagef("--checkpoint: %s does not exist", plainly.Argument(s))
		}
		if err != nil {
			return cli.Usagef("--checkpoint %s: %w", plainly.Argument(s), err)
		}
		l.Heads = append(l.Heads, h)
	}
	return nil
}

// keptHead has a crawl directory held to the newest checkpoint of its ledger that was kept beside the key, if this is the
// machine of its operator. It is read before the ledger is, which has it first.
func keptHead(l *reconcile.Options) error {
	if l.Root == "" {
		return nil
	}
	kept, err := crawldir.KeptHead(l.Root)
	if kept == nil || err != nil {
		return err
	}
	l.Kept, l.KeptIn = &kept.Checkpoint, kept.File
	return nil
}

// trusted returns the keys of those who are believed; the operator's is zero if none was given.
func (k *knownLedgers) trusted() (key checkpoint.Key, witnesses []checkpoint.Key, err error) {
	if k.key != "" {
		if key, err = keyAt("--key", k.key); err != nil {
			return key, nil, err
		}
	}
	for _, s := range k.witnesses {
		w, err := keyAt("--witness-key", s)
		if err != nil {
			return key, nil, err
		}
		witnesses = append(witnesses, w)
	}
	return key, witnesses, nil
}

// keyAt reads a verifier key, from the file of that name if there is one.
func keyAt(flag, s string) (checkpoint.Key, error) {
	text, err := textAt(flag, s)
	if err != nil {
		return checkpoint.Key{}, err
	}
	k, err := checkpoint.ParseKey(text)
	if err != nil {
		return k, cli.Usagef("%s %s: %w", flag, plainly.Argument(s), err)
	}
	return k, nil
}

// textAt is what stands in the file of a name, or the name itself where there is none.
func textAt(flag, s string) (string, error) {
	b, err := fileAt(flag, s)
	var path *fs.PathError
	if errors.As(err, &path) && !errors.Is(err, fs.ErrPermission) {
		return s, nil // it names no file, or cannot name one
	}
	return string(b), err
}

// maxKnown is the most that is read of a file, in bytes.
const maxKnown = 1 << 20

func fileAt(flag, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cli.Usagef("%s: %w", flag, err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil, cli.Usagef("%s: %s is not a file", flag, plainly.Argument(path))
	}
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(f, maxKnown)); err != nil {
		return nil, cli.Usagef("%s: %w", flag, err)
	}
	return b.Bytes(), nil
}
