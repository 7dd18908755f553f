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

const (
	headFolder  = "ledger-heads"
	headSuffix  = ".head" // of the file of a ledger, which is named after its origin
	placeSuffix = ".dir"  // of the file of a crawl directory, which holds the origin of its ledger
)

// Heads keeps the newest checkpoint of each ledger beside the key that signed it. Whoever keeps a crawl directory for the
// operator can take checkpoints out of it, but not out of here.
type Heads struct{ dir string }

// HeadsBeside returns the heads beside the key whose file is at path.
func HeadsBeside(path string) Heads { return Heads{filepath.Join(filepath.Dir(path), headFolder)} }

// Head is the newest checkpoint of a ledger.
type Head struct {
	*checkpoint.Note
	Dir  string // the crawl directory whose ledger it was, as an absolute path
	File string // that holds it
}

// headJSON is a Head as its file has it.
type headJSON struct {
	Dir        string `json:"directory"`
	Checkpoint string `json:"checkpoint"`
}

// file is where something is kept under a name that any text may be.
func (h Heads) file(name, suffix string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(h.dir, hex.EncodeToString(sum[:16])+suffix)
}

// Of returns the head of the ledger of an origin, nil where none is kept.
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

// At returns the origin of the ledger that the crawl directory dir, an absolute path, had last, and the file that says so;
// empty where none is kept.
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

// Keep keeps the newest checkpoint of the ledger of the crawl directory dir, an absolute path.
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

// Begin keeps which ledger the crawl directory dir, an absolute path, has: another one in its place is refused, also before
// its first checkpoint.
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

// ErrNotKept says that the ledger of a crawl directory lacks what your key signed for it.
var ErrNotKept = errors.New("the ledger is not the one that your key signed last")

// heads are the newest checkpoints of the user's ledgers, and dir as they name it.
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

// KeptHead returns the newest checkpoint that was kept of the ledger of a crawl directory, nil for none, and for a ledger so
// damaged that it does not tell its origin.
func KeptHead(dir string) (*Head, error) {
	h, _, err := heads(dir)
	if err != nil {
		return nil, nil // without a configuration folder nothing is kept
	}
	origin, err := ledger.Origin(in(dir, LedgerName))
	if err != nil || origin == "" {
		return nil, nil // the reader of the ledger reports the error
	}
	return h.Of(origin)
}

// requireKept refuses a ledger that does not contain the newest checkpoint that was kept of it, and one of an unknown origin
// that has taken the place of a kept one: whoever goes on with it would sign a second history. It changes nothing.
func requireKept(dir string) error {
	h, whole, err := heads(dir)
	if err != nil {
		return nil // without a configuration folder nothing is kept
	}
	book := in(dir, LedgerName)
	origin, err := ledger.Origin(book)
	if err != nil || origin == "" {
		return nil // a ledger begins here, or to open it says what is wrong
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

// keepHeads returns what keeps each checkpoint of the ledger of dir beside the key. A failure is said: the one before stays.
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

// keepBegun keeps which ledger begins in dir, which may be killed before its first checkpoint. A failure is said.
func keepBegun(dir, origin string, say func(Note)) {
	h, whole, err := heads(dir)
	if err == nil {
		err = h.Begin(whole, origin)
	}
	if err != nil {
		plain(say)("cannot store the origin of this ledger beside your key, so another ledger in its place would not be refused: %v", err)
	}
}
