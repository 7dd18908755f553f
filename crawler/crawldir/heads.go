package crawldir

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
)

const (
	headFolder  = "ledger-heads"
	headSuffix  = ".head" // of the file of a ledger, which is named after its origin
	placeSuffix = ".dir"  // of the file of a crawl directory, which holds the origin of its ledger
	maxHeads    = 4096    // files of each kind; the one that was written first makes room
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

// put writes a file, and makes room for one that is new.
func (h Heads) put(file string, b []byte) error {
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return err
	}
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		if err := h.makeRoom(filepath.Ext(file)); err != nil {
			return err
		}
	}
	return durable.WriteFile(file, b, 0o600)
}

// makeRoom removes the files of a kind that were written first, while there are as many as there may be.
func (h Heads) makeRoom(suffix string) error {
	for {
		entries, err := os.ReadDir(h.dir)
		if err != nil {
			return err
		}
		n, first, at := 0, "", time.Time{}
		for _, e := range entries {
			if filepath.Ext(e.Name()) != suffix {
				continue
			}
			n++
			if info, err := e.Info(); err == nil && (first == "" || info.ModTime().Before(at)) {
				first, at = e.Name(), info.ModTime()
			}
		}
		if n < maxHeads || first == "" {
			return nil
		}
		if err := os.Remove(filepath.Join(h.dir, first)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
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
