package ledger

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
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

// The acts of operators. Others may follow: a reader shows what it does not know as it is.
const (
	ActPause        = "pause"        // no exchange begins
	ActGoOn         = "unpause"      // the end of a pause
	ActDrain        = "drain"        // the run ends when the exchanges under way have
	ActPark         = "park"         // a host gets no turn
	ActRelease      = "release"      // the end of that, or of a drop; or a host that was left alone is open again
	ActDrop         = "drop"         // what is pending of a host is closed, or some of it
	ActRetry        = "retry"        // what was closed, or held, is tried again
	ActSeeds        = "add seeds"    // the scope is extended to them
	ActMaxPages     = "max-pages"    // the budget is another
	ActMaxPerHost   = "max-per-host" // likewise
	ActMaxPerDomain = "max-per-domain"
	ActMaxPerTag    = "max-per-tag"
	ActMaxBytes     = "max-bytes"
	ActMaxTime      = "max-time"
	ActStopWhen     = "stop-when" // the conditions are others
	ActWindow       = "window"    // the window is another
	ActInclude      = "include"   // a pattern of the scope came, or went
	ActExclude      = "exclude"   // likewise
	ActDelay        = "delay"     // the pause of all hosts, or of some, is longer
	ActOptOuts      = "opt-out"   // the opt-out lists were read again
	maxAct          = 32          // of the name of an act, in octets
	MaxAbout        = 2 << 10     // of Operator.About, in octets
	MaxNote         = 500         // of Operator.Note, in octets
)

// Operator is an act of an operator: what a person had the crawl do. It excuses nothing: politeness is judged by what was
// asked of whom, and when.
type Operator struct {
	Act      string        `json:"act"`
	About    string        `json:"about,omitzero"`           // the host, as an origin; the pattern or the budget, before and after. Paths of seeds are in their lines alone
	URLs     int64         `json:"urls,omitzero"`            // that it concerns, as far as that was known
	Note     string        `json:"note,omitzero"`            // in the operator's words; may be empty
	Hosts    string        `json:"whom,omitzero"`            // of ActDelay: a name, "*.example.org" for all below a name, or "*"
	Delay    time.Duration `json:"delay_ms,omitzero"`        // likewise: the pause from here on
	Settings string        `json:"settings_sha256,omitzero"` // of the settings from here on; empty where they stay
}

// check refuses what is no act.
func (o *Operator) check() error {
	switch {
	case o.Act == "" || len(o.Act) > maxAct || strings.Trim(o.Act, "abcdefghijklmnopqrstuvwxyz -") != "":
		return fmt.Errorf("%.80q is not an action", o.Act)
	case len(o.About) > MaxAbout || len(o.Note) > MaxNote || len(o.Hosts) > MaxNote:
		return errors.New("what it says is too long")
	case o.URLs < 0 || o.Delay < 0:
		return errors.New("urls or delay_ms is less than 0")
	case o.Settings != "" && !IsDigest(o.Settings):
		return errors.New("settings_sha256 is invalid")
	}
	return nil
}

// Operator notes an act of an operator, and makes that durable. It begins no run, unless the last run had another key: of a
// crawl that is stopped, the mark stands between two runs.
func (w *Writer) Operator(ctx context.Context, o Operator) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ledger: operator: %w", err)
	}
	o.About, o.Note = cutTo(o.About, MaxAbout), cutTo(o.Note, MaxNote)
	if err := o.check(); err != nil {
		return fmt.Errorf("ledger: operator: %w", err)
	}
	w.mu.Lock()
	err := w.refused()
	if err == nil {
		w.between()
		w.mark(Mark{Kind: KindOperator, Time: time.Now(), Operator: &o})
	}
	w.mu.Unlock()
	if err != nil {
		return err
	}
	return w.sync()
}

// cutTo cuts a text that is too long, and says so.
func cutTo(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len("…")], "") + "…"
}
