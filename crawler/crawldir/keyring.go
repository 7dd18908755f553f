package crawldir

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage/ledger/checkpoint"
)

// This file changes the key that ledgers are signed with, and keeps what proves the change, and the newest checkpoint
// of each ledger (Heads).
//
// Beside the file of the key stand
//
//	ledger.key.next                the secret that is to take its place, while it does
//	ledger-rotations/NNNNNN.note   each rotation, signed by the old key and the new one (storage/ledger/checkpoint)
//	ledger-heads/NAME.head         the newest checkpoint of a ledger, and its crawl directory
//	ledger-heads/NAME.dir          the origin of the ledger that a crawl directory has
//
// Rotate makes the next secret, then the note, and then renames the secret to that of the key. A kill in between leaves the
// old key in force; the next Rotate goes on with the same secret and the same note. A note whose new key did not come
// into force leads to no key, and Rotations passes over it.
//
// The old secret is destroyed: nothing needs it any more, for its signatures are checked with the verifier key, and
// nobody can steal it to sign in its name.

const (
	nextSuffix = ".next"
	folder     = "ledger-rotations"
	suffix     = ".note"

	maxRotations = 10_000 // notes that are read
)

// A Rotation is one from a key to the next, with its note.
type Rotation struct {
	checkpoint.Rotation
	Note []byte
}

// Rotate gives the key whose file is at path, and whose secret is given, the place of an earlier one to a new key.
func Rotate(path string, secret []byte, at time.Time) (Rotation, error) {
	from, err := checkpoint.NewSigner(secret)
	if err != nil {
		return Rotation{}, err
	}
	file := path
	if linked, err := filepath.EvalSymlinks(path); err == nil { // who keeps it elsewhere goes on to do so
		file = linked
	}
	next := file + nextSuffix
	fresh, err := nextKey.Make(next)
	if err != nil {
		return Rotation{}, err
	}
	to, err := checkpoint.NewSigner(fresh)
	if err != nil {
		return Rotation{}, err
	}
	all, err := read(path)
	if err != nil {
		return Rotation{}, err
	}
	done := slices.IndexFunc(all, func(r Rotation) bool { return r.Old == from.Key() && r.New == to.Key() })
	if done < 0 {
		made, err := write(path, len(all), from, to, at)
		if err != nil {
			return Rotation{}, fmt.Errorf("rotate the key of ledgers: %w", err)
		}
		all, done = append(all, made), len(all)
	}
	if err := os.Rename(next, file); err != nil {
		return Rotation{}, fmt.Errorf("rotate the key of ledgers: %w", err)
	}
	if err := durable.Names(filepath.Dir(file)); err != nil {
		return Rotation{}, fmt.Errorf("rotate the key of ledgers: %w", err)
	}
	return all[done], nil
}

// write keeps the note of a rotation under the next number that is free.
func write(path string, n int, from, to *checkpoint.Signer, at time.Time) (Rotation, error) {
	note, err := checkpoint.Rotate(from, to, at)
	if err != nil {
		return Rotation{}, err
	}
	dir := filepath.Join(filepath.Dir(path), folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Rotation{}, err
	}
	for {
		n++
		err := durable.New(filepath.Join(dir, fmt.Sprintf("%06d%s", n, suffix)), func(w io.Writer) error {
			_, err := w.Write(note)
			return err
		})
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return Rotation{}, err
		}
		r, err := checkpoint.ParseRotation(note)
		return Rotation{r, note}, err
	}
}

// Rotations are those that led to the key whose file is at path, the oldest first. current is that key.
func Rotations(path string, current checkpoint.Key) ([]Rotation, error) {
	all, err := read(path)
	if err != nil {
		return nil, err
	}
	var led []Rotation
	for key := current; ; {
		at := slices.IndexFunc(all, func(r Rotation) bool { return r.New == key })
		if at < 0 {
			slices.Reverse(led)
			return led, nil
		}
		led, key = append(led, all[at]), all[at].Old
		all = slices.Delete(all, at, at+1) // a circle ends
	}
}

// read reads all notes beside the file of the key, and checks their signatures.
func read(path string) ([]Rotation, error) {
	dir := filepath.Join(filepath.Dir(path), folder)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("rotations of the key of ledgers: %w", err)
	}
	var all []Rotation
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if !strings.HasSuffix(name, suffix) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if len(all) == maxRotations {
			return nil, fmt.Errorf("%s has more than %d rotations", dir, maxRotations)
		}
		note, err := bounded(name)
		if err != nil {
			return nil, fmt.Errorf("rotations of the key of ledgers: %w", err)
		}
		r, err := checkpoint.ParseRotation(note)
		if err != nil {
			return nil, fmt.Errorf("%s is damaged: put its copy back, or remove it: %w", name, err)
		}
		all = append(all, Rotation{r, note})
	}
	return all, nil
}

// bounded reads a file of the size that a note may have, and one octet more.
func bounded(name string) ([]byte, error) {
	f, err := durable.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	var b bytes.Buffer
	_, err = io.Copy(&b, io.LimitReader(f, checkpoint.MaxNote+1))
	return b.Bytes(), err
}

// keySize is the size of a secret in bytes.
const keySize = 32

// KeyFile is a secret of the user, kept beside the configuration.
type KeyFile struct {
	Name string // of the file
	what string // for errors: what it is the key of
	lost string // advice if the file is damaged
}

// The secrets of a user.
var (
	OwnKey    = KeyFile{"own.key", "key of own hosts", "put its copy back, or remove it and give each host its new value"}
	LedgerKey = KeyFile{"ledger.key", "key of ledgers", "put its copy back, or remove it, and the next checkpoints are signed by a new one"}
	BotKey    = KeyFile{"webbotauth.key", "key of Web Bot Auth",
		"put its copy back, or remove it, and publish the new one that curtsy identity keygen makes"}

	nextKey = KeyFile{"ledger.key" + nextSuffix, "rotate the key of ledgers", "remove it, and rotate again"}
)

// Path is where the key is.
func (k KeyFile) Path() (string, error) {
	config, err := UserConfig()
	return filepath.Join(filepath.Dir(config), k.Name), err
}

// Read returns the key in a file.
func (k KeyFile) Read(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.what, err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("%s: %s is damaged: %s", k.what, path, k.lost)
	}
	return key, nil
}

// Make returns the key, and makes it if there is none. Of two that make it at one time, one wins and both return it.
func (k KeyFile) Make(path string) ([]byte, error) {
	key, err := k.Read(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("%s: %w", k.what, err)
	}
	key = make([]byte, keySize)
	rand.Read(key)
	err = durable.New(path, func(w io.Writer) error { _, err := io.WriteString(w, hex.EncodeToString(key)+"\n"); return err })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s: %w", k.what, err)
	}
	return k.Read(path)
}
