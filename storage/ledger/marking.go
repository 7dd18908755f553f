package ledger

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"
)

// ready puts the marks that are due before a line.
func (w *Writer) ready() {
	w.beginSegment()
	if w.going {
		return
	}
	w.going = true
	m := Mark{Kind: KindRun, Time: w.opened, Cut: w.cut, Killed: !w.ended, Warcinfo: w.options.Warcinfo,
		Settings: w.options.SettingsSHA256, OptOuts: w.options.OptOutsSHA256, Key: w.options.Signer.VerifierKey()}
	if back := w.last.Sub(w.opened); back >= time.Microsecond {
		m.ClockBack = back
	}
	w.last = w.opened
	for _, note := range w.rotate { // before the run that signs with the new key
		w.mark(Mark{Kind: KindKey, Time: w.opened, Note: string(note)})
	}
	w.ended = false
	w.mark(m)
	w.commits.start(w.commit)
}

// between puts the marks that are due before one that may stand between two runs. A checkpoint must have the key of its run.
func (w *Writer) between() {
	w.beginSegment()
	if w.foreign {
		w.ready()
	}
}

// beginSegment puts the mark that each segment begins with.
func (w *Writer) beginSegment() {
	if w.begun {
		return
	}
	w.begun = true
	w.mark(Mark{Kind: KindBegin, Schema: Schema, Segment: w.number, First: w.tree.Size(), Lines: w.lines,
		Origin: w.origin, Software: w.options.Software})
}

// mark puts a mark into the buffer.
func (w *Writer) mark(m Mark) {
	from := len(w.buf)
	w.buf = append(appendMark(w.buf, &m), '\n')
	w.entry(from, "", false)
}

// File says that a file of archive or index is finished: its name, relative to the crawl directory and with slashes, its
// size and its SHA-256 in hexadecimal digits.
func (w *Writer) File(ctx context.Context, name string, octets int64, sha256 string) error {
	if name == "" || !IsDigest(sha256) {
		return fmt.Errorf("ledger: the file %.200q with the digest %.80q is invalid", name, sha256)
	}
	return w.tell(ctx, Mark{Kind: KindFile, Name: name, Octets: octets, SHA256: sha256})
}

// Finished has a ledger say which files of archive and index are complete, by a durable mark each. A file that a kill left
// may be completed before the ledger is open: its mark is written when it is. The zero value has no ledger yet.
type Finished struct {
	book  *Writer
	early []func() error
}

// In returns what is told of the complete files of a folder.
func (f *Finished) In(folder string) func(name string, octets int64, sum [32]byte) error {
	return func(name string, octets int64, sum [32]byte) error {
		tell := func() error {
			ctx := context.Background() // the file is there
			if err := f.book.File(ctx, folder+"/"+name, octets, hex.EncodeToString(sum[:])); err != nil {
				return err
			}
			return f.book.Sync(ctx)
		}
		if f.book == nil {
			f.early = append(f.early, tell)
			return nil
		}
		return tell()
	}
}

// Open gives it the ledger, and writes the marks that waited for it.
func (f *Finished) Open(book *Writer) error {
	f.book = book
	for _, tell := range f.early {
		if err := tell(); err != nil {
			return err
		}
	}
	f.early = nil
	return nil
}

// OptOuts says that the opt-out list is another one from now on: its SHA-256 in hexadecimal digits and its entries.
func (w *Writer) OptOuts(ctx context.Context, sha256 string, entries int64) error {
	if !IsDigest(sha256) {
		return fmt.Errorf("ledger: the digest %.80q of an opt-out list is invalid", sha256)
	}
	return w.tell(ctx, Mark{Kind: KindOptOuts, SHA256: sha256, Entries: entries})
}

// Fleet notes what a member of a fleet took, gave and learned.
func (w *Writer) Fleet(ctx context.Context, f Fleet) error {
	return w.tell(ctx, Mark{Kind: KindFleet, Fleet: &f})
}

// tell puts a mark of a run.
func (w *Writer) tell(ctx context.Context, m Mark) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ledger: %s: %w", m.Kind, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.refused(); err != nil {
		return err
	}
	w.ready()
	m.Time = time.Now()
	w.mark(m)
	return nil
}

// maxRedacted is how many things one mark names: so its line stays short.
const maxRedacted = 5000

// Redact says what was forgotten, in several marks if it is much, and makes that durable. It begins no run,
// unless the last run had another key.
func (w *Writer) Redact(ctx context.Context, r Redaction) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ledger: redact: %w", err)
	}
	if err := r.check(); err != nil {
		return fmt.Errorf("ledger: redact: %w", err)
	}
	w.mu.Lock()
	err := w.refused()
	if err == nil {
		w.between()
		at := time.Now()
		for more := true; more; more = len(r.Records)+len(r.Entries)+len(r.Files) > 0 {
			part := r
			part.Records, r.Records = apart(r.Records)
			part.Entries, r.Entries = apart(r.Entries)
			part.Files, r.Files = apart(r.Files)
			w.mark(Mark{Kind: KindRedaction, Time: at, Redaction: &part})
		}
	}
	w.mu.Unlock()
	if err != nil {
		return err
	}
	return w.sync()
}

func apart[T any](all []T) (some, rest []T) {
	n := min(len(all), maxRedacted)
	return all[:n], all[n:]
}
