package crawldir

import (
	"errors"
	"fmt"
	"path/filepath"

	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
)

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
		return nil, nil // whoever reads the ledger says what is wrong with it
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
