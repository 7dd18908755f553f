package crawldir

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
)

// This file rotates the key that signs ledgers, and keeps the newest checkpoint of each ledger (Heads). Beside the key are
//
//	ledger.key.next                the next secret, during a rotation
//	ledger-rotations/NNNNNN.note   each rotation, signed by the old key and the new one (storage/ledger/checkpoint)
//	ledger-heads/NAME.head         the newest checkpoint of a ledger, and its crawl directory
//	ledger-heads/NAME.dir          the origin of the ledger in a crawl directory
//
// Rotate makes the next secret, then the note, and then renames the secret over the key. After a kill in between, the old
// key is in force, and the next Rotate continues with the same secret and note. Rotations ignores a note that leads to no
// key. The old secret is destroyed, so that it cannot be stolen: its signatures are checked with the verifier key.

const (
	nextSuffix = ".next"
	folder     = "ledger-rotations"
	suffix     = ".note"
)

// A Rotation replaces a key, with the note that proves it.
type Rotation struct {
	checkpoint.Rotation
	Note []byte
}

// Rotate replaces the key at path, whose secret the caller passes, by a new one.
func Rotate(path string, secret []byte, at time.Time) (Rotation, error) {
	from, err := checkpoint.NewSigner(secret)
	if err != nil {
		return Rotation{}, err
	}
	file := path
	if linked, err := filepath.EvalSymlinks(path); err == nil { // keep a link to where the user stores the key
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

// write stores the note of a rotation under the next free number.
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

// Rotations returns the rotations that led to current, the key at path, oldest first.
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

// read reads all notes beside the key, and checks their signatures.
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

// bounded reads a file up to the size of a note and one byte more.
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

const keySize = 32 // bytes

// KeyFile is a secret of the user in the configuration folder.
type KeyFile struct {
	Name string // of the file
	what string // for errors: the use of the key
	lost string // advice for a damaged file
}

var (
	OwnKey    = KeyFile{"own.key", "key of own hosts", "put its copy back, or remove it and give each host its new value"}
	LedgerKey = KeyFile{"ledger.key", "key of ledgers", "put its copy back, or remove it, and the next checkpoints are signed by a new one"}
	BotKey    = KeyFile{"webbotauth.key", "key of Web Bot Auth",
		"put its copy back, or remove it, and publish the new one that curtsy identity keygen makes"}

	nextKey = KeyFile{"ledger.key" + nextSuffix, "rotate the key of ledgers", "remove it, and rotate again"}
)

// Path returns the path of the key.
func (k KeyFile) Path() (string, error) {
	config, err := UserConfig()
	return filepath.Join(filepath.Dir(config), k.Name), err
}

// Read returns the key in the file at path.
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

// Make returns the key at path, and creates it if it is missing. If two processes create it at once, both return the same.
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

const (
	headFolder  = "ledger-heads"
	headSuffix  = ".head" // of the file of a ledger, which is named after its origin
	placeSuffix = ".dir"  // of the file of a crawl directory, which holds the origin of its ledger
)

// Heads keeps the newest checkpoint of each ledger beside its key, where a holder of the crawl directory cannot remove it.
type Heads struct{ dir string }

// HeadsBeside returns the heads beside the key at path.
func HeadsBeside(path string) Heads { return Heads{filepath.Join(filepath.Dir(path), headFolder)} }

// Head is the newest checkpoint of a ledger.
type Head struct {
	*checkpoint.Note
	Dir  string // absolute path of the ledger's crawl directory
	File string // the file of this head
}

type headJSON struct {
	Dir        string `json:"directory"`
	Checkpoint string `json:"checkpoint"`
}

// file hashes a name, which may be any text, to a file name.
func (h Heads) file(name, suffix string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(h.dir, hex.EncodeToString(sum[:16])+suffix)
}

// Of returns the head of the ledger with an origin, or nil.
func (h Heads) Of(origin string) (*Head, error) {
	file := h.file(origin, headSuffix)
	b, err := bounded(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("newest checkpoint of a ledger: %w", err)
	}
	var j headJSON
	if err = json.Unmarshal(b, &j); err == nil {
		var n *checkpoint.Note
		if n, err = checkpoint.Parse([]byte(j.Checkpoint)); err == nil && n.Origin == origin {
			return &Head{n, j.Dir, file}, nil
		}
	}
	return nil, fmt.Errorf("newest checkpoint of a ledger: %s is damaged: put its copy back, or remove it", file)
}

// At returns the last origin of the ledger in dir, an absolute path, and the file that records it; empty without one.
func (h Heads) At(dir string) (origin, file string, err error) {
	file = h.file(dir, placeSuffix)
	b, err := bounded(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("ledger of a crawl directory: %w", err)
	}
	return strings.TrimSuffix(string(b), "\n"), file, nil
}

// Keep stores the newest checkpoint of the ledger in the crawl directory dir, an absolute path.
func (h Heads) Keep(dir string, n *checkpoint.Note) error {
	b, err := json.Marshal(headJSON{dir, string(n.Marshal())})
	if err == nil {
		err = h.put(h.file(n.Origin, headSuffix), append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keep a checkpoint: %w", err)
	}
	return h.Begin(dir, n.Origin)
}

// Begin stores the origin of the ledger in dir, an absolute path, to refuse another ledger even before its first checkpoint.
func (h Heads) Begin(dir, origin string) error {
	place, line := h.file(dir, placeSuffix), []byte(origin+"\n")
	if was, err := bounded(place); err == nil && string(was) == string(line) {
		return nil
	}
	if err := h.put(place, line); err != nil {
		return fmt.Errorf("keep the ledger of a crawl directory: %w", err)
	}
	return nil
}

func (h Heads) put(file string, b []byte) error {
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return err
	}
	return durable.WriteFile(file, b, 0o600)
}

// ErrNotKept means that the ledger of a crawl directory lacks a checkpoint that your key signed.
var ErrNotKept = errors.New("the ledger is not the one that your key signed last")

// heads returns the user's heads, and dir as they name it: absolute and without links.
func heads(dir string) (h Heads, whole string, err error) {
	path, err := LedgerKey.Path()
	if err != nil {
		return h, "", err
	}
	if whole, err = filepath.Abs(dir); err != nil {
		return h, "", err
	}
	if real, err := filepath.EvalSymlinks(whole); err == nil {
		whole = real
	}
	return HeadsBeside(path), whole, nil
}

// KeptHead returns the newest kept checkpoint of the ledger in dir; nil without one, or if damage hides the origin.
func KeptHead(dir string) (*Head, error) {
	h, _, err := heads(dir)
	if err != nil {
		return nil, nil // without a configuration folder there are no heads
	}
	origin, err := ledger.Origin(in(dir, LedgerName))
	if err != nil || origin == "" {
		return nil, nil // the reader of the ledger reports the error
	}
	return h.Of(origin)
}

// requireKept refuses a ledger that lacks its newest kept checkpoint, and an unknown ledger in the place of a kept one: to
// continue it would sign a second history. It makes no changes.
func requireKept(dir string) error {
	h, whole, err := heads(dir)
	if err != nil {
		return nil // without a configuration folder there are no heads
	}
	book := in(dir, LedgerName)
	origin, err := ledger.Origin(book)
	if err != nil || origin == "" {
		return nil // a new ledger, or an error that opening it reports
	}
	kept, err := h.Of(origin)
	if err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	var signed, remove string
	if kept != nil {
		signed, remove = fmt.Sprintf("signed for %s, kept in %s", kept.Dir, kept.File), kept.File
		err = ledger.Contains(book, kept.Checkpoint)
	} else {
		last, file, atErr := h.At(whole)
		switch {
		case atErr != nil:
			return fmt.Errorf("crawl directory: %w", atErr)
		case last == "" || last == origin:
			return nil
		}
		signed, remove = "kept in "+file, file
		err = fmt.Errorf("%w: it is the log %.80q, and the directory had %.80q", ledger.ErrNotContained, origin, last)
	}
	if errors.Is(err, ledger.ErrNotContained) {
		return fmt.Errorf("%w: %s: %w (%s). Lines were changed or cut off, an older copy was put back, or a "+
			"copy of the directory continued elsewhere: curtsy audit has details. Put the newer ledger back; or move %s away, and the "+
			"next run begins a new one; or, to sign a second history knowingly, remove %s",
			ErrNotKept, book, err, signed, book, remove)
	}
	return err
}

// keepHeads returns a function that stores each checkpoint of the ledger in dir. A failure is a note; the older one remains.
func keepHeads(dir string, say func(Note)) func(note []byte) {
	return func(note []byte) {
		h, whole, err := heads(dir)
		var n *checkpoint.Note
		if err == nil {
			n, err = checkpoint.Parse(note)
		}
		if err == nil {
			err = h.Keep(whole, n)
		}
		if err != nil {
			plain(say)("cannot store the newest checkpoint beside your key, so a ledger cut back before it would not be refused: %v", err)
		}
	}
}

// keepBegun stores the origin of a new ledger, in case a kill comes before its first checkpoint. A failure is a note.
func keepBegun(dir, origin string, say func(Note)) {
	h, whole, err := heads(dir)
	if err == nil {
		err = h.Begin(whole, origin)
	}
	if err != nil {
		plain(say)("cannot store the origin of this ledger beside your key, so another ledger in its place would not be refused: %v", err)
	}
}
