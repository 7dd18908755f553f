package redact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"curtsy/storage/ledger"
)

// Told is a redaction as the ledger tells of it, in one mark or several.
type Told struct {
	Time time.Time // of the first of them
	ledger.Redaction
}

// Redactions are all that a ledger tells of.
type Redactions struct {
	All   []Told
	files map[string]string // by name and former digest; the one it has since
}

// Marks reads the redactions of the crawl in dir from its ledger. It checks no mark: an audit does, and holds what is
// missing against them. A crawl without a ledger has none.
func Marks(ctx context.Context, dir string) (*Redactions, error) {
	return MarksIn(ctx, (&disk{dir: dir}).path(ledgerDir))
}

// MarksIn is Marks of a folder that is a ledger.
func MarksIn(ctx context.Context, folder string) (*Redactions, error) {
	r := &Redactions{files: map[string]string{}}
	for m, err := range ledger.Marks(folder) {
		if errors.Is(err, fs.ErrNotExist) {
			return r, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("redactions: %w", err)
		}
		r.Add(m)
	}
	return r, nil
}

// Add takes a mark; those of other kinds say nothing here.
func (r *Redactions) Add(m *ledger.Mark) {
	if m.Kind != ledger.KindRedaction || m.Redaction == nil {
		return
	}
	at := -1
	for i := range r.All {
		if t := &r.All[i]; t.Subject == m.Redaction.Subject && t.Extent == m.Redaction.Extent {
			at = i
		}
	}
	if at < 0 {
		at = len(r.All)
		r.All = append(r.All, Told{Time: m.Time, Redaction: ledger.Redaction{Extent: m.Redaction.Extent,
			Reason: m.Redaction.Reason, Subject: m.Redaction.Subject}})
	}
	t := &r.All[at]
	t.Records = append(t.Records, m.Redaction.Records...)
	t.Entries = append(t.Entries, m.Redaction.Entries...)
	for _, f := range m.Redaction.Files {
		r.files[f.Name+"\n"+f.Before] = f.SHA256
		t.Files = append(t.Files, f)
	}
}

// Lines is how many lines of the ledger were redacted.
func (r *Redactions) Lines() (n int64) {
	for _, t := range r.All {
		n += int64(len(t.Entries))
	}
	return n
}

// File returns the digest that a file has now of which a file mark states another, by way of all redactions that wrote
// it anew; that one if there was none.
func (r *Redactions) File(name, sha256 string) string {
	for range len(r.files) {
		next, ok := r.files[name+"\n"+sha256]
		if !ok {
			break
		}
		sha256 = next
	}
	return sha256
}
