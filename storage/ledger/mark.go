package ledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
)

// Schema is the version of the schema.
const Schema = 3

// The kinds of marks.
const (
	KindBegin     = "begin"     // a segment begins
	KindRun       = "run"       // a run of the crawl begins
	KindHosts     = "hosts"     // the completeness map of the entries so far, and the end of a checkpoint
	KindFile      = "file"      // a file of archive or index is finished
	KindOptOuts   = "optouts"   // the opt-out list changed while the run went on
	KindKey       = "key"       // the operator's key is another one from here on
	KindRedaction = "redaction" // something was redacted
	KindOperator  = "operator"  // an operator had the crawl do something
	KindFleet     = "fleet"     // a member of a fleet took or gave slots, or learned of other members
	KindStop      = "stop"      // the run ended cleanly
)

// Mark is a line that is not a decision. Its kind sets its fields: those that name it, or Redaction, Operator or Fleet.
type Mark struct {
	Kind string    `json:"-"`
	Time time.Time `json:"-"` // all but begin

	Schema   int    `json:"schema" of:"begin"`
	Segment  int    `json:"segment" of:"begin"`
	First    int64  `json:"first" of:"begin"`             // its index
	Lines    int64  `json:"lines" of:"begin stop"`        // decisions before it
	Origin   string `json:"origin" of:"begin"`            // of the log
	Software string `json:"software,omitzero" of:"begin"` // name/version

	Cut       int64         `json:"cut" of:"run"`                      // bytes that were cut off because a kill had torn a line
	Killed    bool          `json:"killed,omitzero" of:"run"`          // the run before it did not end cleanly
	ClockBack time.Duration `json:"clock_back_us,omitzero" of:"run"`   // by how much the clock was behind the last time in the ledger
	Warcinfo  string        `json:"warcinfo_sha256,omitzero" of:"run"` // of the block of its warcinfo records
	Settings  string        `json:"settings_sha256,omitzero" of:"run"`
	OptOuts   string        `json:"optouts_sha256,omitzero" of:"run"` // of the opt-out list
	Key       string        `json:"key,omitzero" of:"run"`            // the verifier key of its checkpoints; empty for none

	Size  int64        `json:"size" of:"hosts"`  // the entries that the map is of
	Hosts int64        `json:"hosts" of:"hosts"` // how many it has
	Root  hostmap.Hash `json:"root" of:"hosts"`

	Name    string `json:"name" of:"file"` // relative to the crawl directory, with slashes
	Octets  int64  `json:"octets" of:"file"`
	SHA256  string `json:"sha256" of:"file optouts"`
	Entries int64  `json:"entries" of:"optouts"` // of the list

	Note     string              `json:"note" of:"key"` // that of the rotation (package checkpoint)
	Rotation checkpoint.Rotation `json:"-"`             // key: the rotation itself

	Redaction *Redaction `json:"-"`
	Operator  *Operator  `json:"-"`
	Fleet     *Fleet     `json:"-"`
}

// Fleet is the state that a member of a fleet has at a time. Slots are those of canon.Authority.Slot.
type Fleet struct {
	Crawl   string            `json:"crawl"` // identifies it
	Dir     string            `json:"dir"`   // identifies the crawl directory
	Taken   []int             `json:"taken"` // slots
	Given   []int             `json:"given"`
	Members map[string]string `json:"members"` // names of members that no mark before has, by Dir
	Asked   time.Time         `json:"asked"`
	Server  time.Time         `json:"server"` // its clock, read between Asked and the time of the mark
}

// The extents of a redaction.
const (
	ExtentBodies = "bodies" // the bytes received
	ExtentAll    = "all"    // the lines as well
)

// Redaction records a redaction and its reason. A stub of the same entry hash replaces a line, so the tree stays.
type Redaction struct {
	Extent  string           `json:"extent"`         // ExtentBodies or ExtentAll
	Reason  string           `json:"reason"`         // in the operator's words; may be empty
	Subject string           `json:"subject_sha256"` // of a salt, a newline, and the subject (storage/redact.Digest)
	Records []RedactedRecord `json:"records"`
	Entries []int64          `json:"entries"` // indexes of the lines that are stubs
	Files   []RedactedFile   `json:"files"`
}

// RedactedRecord is a record that left the archive.
type RedactedRecord struct {
	ID     string `json:"id"`
	Blocks string `json:"blocks"` // as its line had it (storage.Line.Blocks); may be empty
}

// RedactedFile is a file that was rewritten.
type RedactedFile struct {
	Name   string `json:"name"` // as in a file mark
	Octets int64  `json:"octets"`
	SHA256 string `json:"sha256"`
	Before string `json:"before_sha256"`
}

const timeForm = "2006-01-02T15:04:05.000000Z"

var (
	markStart = []byte(`{"mark":"`)
	stubStart = []byte(`{"redacted":`)
)

// IsMark reports whether a line is meant as a mark.
func IsMark(line []byte) bool { return bytes.HasPrefix(line, markStart) }

// IsDigest reports whether s is a SHA-256 in hexadecimal digits.
func IsDigest(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

func (m *Mark) part() any {
	switch m.Kind {
	case KindRedaction:
		m.Redaction = cmp.Or(m.Redaction, new(Redaction))
		return m.Redaction
	case KindOperator:
		m.Operator = cmp.Or(m.Operator, new(Operator))
		return m.Operator
	case KindFleet:
		m.Fleet = cmp.Or(m.Fleet, new(Fleet))
		return m.Fleet
	}
	return m
}

type field struct {
	reflect.Value
	name     string
	optional bool // left out when it is zero
}

// fieldsOf yields the fields of a struct; of a Mark, those of its kind or, with others, those of the other kinds.
func fieldsOf(v reflect.Value, kind string, others bool) iter.Seq[field] {
	return func(yield func(field) bool) {
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag
			of, some := tag.Lookup("of")
			if some && slices.Contains(strings.Fields(of), kind) == others || !some && v.Type() == reflect.TypeFor[Mark]() {
				continue
			}
			name, option, _ := strings.Cut(tag.Get("json"), ",")
			if !yield(field{v.Field(i), name, option != ""}) {
				return
			}
		}
	}
}

func appendMark(b []byte, m *Mark) []byte {
	b = append(append(append(b, markStart...), m.Kind...), '"')
	if m.Kind != KindBegin {
		b = appendValue(append(b, `,"time":`...), "", reflect.ValueOf(m.Time))
	}
	return appendFields(b, ',', reflect.ValueOf(m.part()).Elem(), m.Kind)
}

// appendFields appends the fields of v, each after a comma or the opening brace, and the closing brace.
func appendFields(b []byte, before byte, v reflect.Value, kind string) []byte {
	for f := range fieldsOf(v, kind, false) {
		if f.optional && f.IsZero() {
			continue
		}
		b = append(append(append(b, before, '"'), f.name...), `":`...)
		b, before = appendValue(b, f.name, f.Value), ','
	}
	return append(b, '}')
}

type member struct {
	Dir  string `json:"dir"`
	Name string `json:"name"`
}

func appendValue(b []byte, name string, v reflect.Value) []byte {
	switch x := v.Interface().(type) {
	case time.Time:
		return storage.AppendString(b, x.UTC().Format(timeForm))
	case time.Duration:
		unit := time.Microsecond
		if strings.HasSuffix(name, "_ms") {
			unit = time.Millisecond
		}
		return strconv.AppendInt(b, int64(x/unit), 10)
	case hostmap.Hash:
		return storage.AppendString(b, x.String())
	case map[string]string:
		var all []member
		for _, dir := range slices.Sorted(maps.Keys(x)) {
			all = append(all, member{dir, x[dir]})
		}
		return appendValue(b, name, reflect.ValueOf(all))
	}
	switch v.Kind() {
	case reflect.String:
		return storage.AppendString(b, v.String())
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Struct:
		return appendFields(b, '{', v, "")
	case reflect.Slice:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, name, v.Index(i))
		}
		return append(b, ']')
	}
	return strconv.AppendInt(b, v.Int(), 10)
}

// durationOf returns n units, at least -1, and at most the largest Duration.
func durationOf(n, unit time.Duration) time.Duration { return min(max(n, -1), 1<<62/unit) * unit }

func (f *Fleet) UnmarshalJSON(b []byte) error {
	type plain Fleet
	j := struct {
		*plain
		Members []member `json:"members"`
	}{plain: (*plain)(f)}
	err := json.Unmarshal(b, &j)
	f.Members = map[string]string{}
	for _, x := range j.Members {
		f.Members[x.Dir] = x.Name
	}
	return err
}

// ParseMark reads a line that is meant as a mark.
func ParseMark(line []byte) (*Mark, error) {
	if err := storage.CheckForm(line); err != nil {
		return nil, err
	}
	var head struct {
		Mark string
		Time *time.Time
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(line, append(append(slices.Clone(markStart), head.Mark...), '"')) {
		return nil, errors.New("its kind is written with escapes")
	}
	m := &Mark{Kind: head.Mark}
	if err := json.Unmarshal(line, m.part()); err != nil {
		return nil, err
	}
	for f := range fieldsOf(reflect.ValueOf(m).Elem(), m.Kind, true) {
		f.SetZero() // a reader passes over fields that it does not expect
	}
	switch {
	case m.Kind == KindBegin:
	case head.Time == nil:
		return nil, errors.New("time is missing")
	default:
		m.Time = *head.Time
		if !bytes.Contains(line, []byte(`"time":"`+m.Time.UTC().Format(timeForm)+`"`)) {
			return nil, errors.New("time is not of the form " + timeForm)
		}
	}
	switch {
	case m.Kind != KindBegin || m.Schema == Schema:
	case m.Schema > Schema:
		return m, nil // of a later schema, otherwise unknown
	case bytes.Contains(line, []byte(`"schema":`)):
		return m, fmt.Errorf("schema %d is of an earlier version, and not read any more", m.Schema)
	}
	for f := range fieldsOf(reflect.ValueOf(m.part()).Elem(), m.Kind, false) {
		_, value, there := bytes.Cut(line, []byte(`"`+f.name+`":`))
		if !f.optional && (!there || bytes.HasPrefix(value, []byte("null"))) {
			return m, fmt.Errorf("%s is missing", f.name)
		}
	}
	return m, m.check()
}

const (
	maxOrigin = 400     // of the origin of a log, in bytes
	maxIndex  = 1 << 60 // of entries: more than a ledger has, and one can be added
)

// check refuses an invalid mark of its kind, and completes others.
func (m *Mark) check() (err error) {
	switch m.Kind {
	case KindBegin:
		switch {
		case m.Segment < 0, m.First < 0, m.First > maxIndex, m.Lines < 0, m.Lines > maxIndex:
			return errors.New("segment, first or lines is invalid")
		case m.Origin == "" || len(m.Origin) > maxOrigin:
			return errors.New("origin is missing")
		}
	case KindRun:
		m.ClockBack = max(durationOf(m.ClockBack, time.Microsecond), 0)
		for _, d := range []string{m.Warcinfo, m.Settings, m.OptOuts} {
			if d != "" && !IsDigest(d) {
				return errors.New("one of its digests is invalid")
			}
		}
		if m.Key != "" {
			_, err = checkpoint.ParseKey(m.Key)
		}
	case KindHosts:
		if m.Size < 0 || m.Hosts < 0 {
			return errors.New("size or hosts is invalid")
		}
	case KindFile:
		if m.Name == "" || !IsDigest(m.SHA256) {
			return errors.New("name or sha256 is missing")
		}
	case KindOptOuts:
		if !IsDigest(m.SHA256) {
			return errors.New("sha256 is missing")
		}
	case KindKey:
		m.Rotation, err = checkpoint.ParseRotation([]byte(m.Note))
	case KindRedaction:
		return m.Redaction.check()
	case KindOperator:
		m.Operator.Delay = durationOf(m.Operator.Delay, time.Millisecond)
		return m.Operator.check()
	case KindFleet:
		if f := m.Fleet; f.Crawl == "" || f.Dir == "" || !inCentury(f.Asked) || !inCentury(f.Server) {
			return errors.New("crawl, dir, asked or server is invalid")
		}
	case KindStop:
	default:
		return fmt.Errorf("a mark %.80q is not known", m.Kind)
	}
	return err
}

func inCentury(t time.Time) bool { y := t.UTC().Year(); return 2000 <= y && y < 2100 }

func (r *Redaction) check() error {
	if r.Extent != ExtentBodies && r.Extent != ExtentAll {
		return fmt.Errorf("a redaction of the extent %.80q is not known", r.Extent)
	}
	if !IsDigest(r.Subject) {
		return errors.New("subject_sha256 is missing")
	}
	for _, i := range r.Entries {
		if i < 0 {
			return fmt.Errorf("no entry %d", i)
		}
	}
	for _, f := range r.Files {
		if !IsDigest(f.SHA256) || !IsDigest(f.Before) {
			return fmt.Errorf("the digests of %.80q are missing", f.Name)
		}
	}
	return nil
}

func (w *Writer) ready() {
	w.beginSegment()
	if w.running {
		return
	}
	w.running = true
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

func (w *Writer) beginSegment() {
	if w.begun {
		return
	}
	w.begun = true
	w.mark(Mark{Kind: KindBegin, Schema: Schema, Segment: w.number, First: w.tree.Size(), Lines: w.lines,
		Origin: w.origin, Software: w.options.Software})
}

func (w *Writer) mark(m Mark) {
	from := len(w.buf)
	w.buf = append(appendMark(w.buf, &m), '\n')
	w.entry(from, "", false)
}

// File records a finished file of archive or index: name relative to the crawl directory, with slashes, and hex SHA-256.
func (w *Writer) File(ctx context.Context, name string, octets int64, sha256 string) error {
	if name == "" || !IsDigest(sha256) {
		return fmt.Errorf("ledger: the file %.200q with the digest %.80q is invalid", name, sha256)
	}
	return w.record(ctx, Mark{Kind: KindFile, Name: name, Octets: octets, SHA256: sha256})
}

// Finished writes a durable mark for each complete file of archive or index. The marks of files that were completed before
// Open wait for it. The zero value has no ledger yet.
type Finished struct {
	book  *Writer
	early []func() error
}

// In returns a function that records the complete files of a folder.
func (f *Finished) In(folder string) func(name string, octets int64, sum [32]byte) error {
	return func(name string, octets int64, sum [32]byte) error {
		record := func() error {
			ctx := context.Background() // the file exists
			if err := f.book.File(ctx, folder+"/"+name, octets, hex.EncodeToString(sum[:])); err != nil {
				return err
			}
			return f.book.Sync(ctx)
		}
		if f.book == nil {
			f.early = append(f.early, record)
			return nil
		}
		return record()
	}
}

// Open sets the ledger, and writes the marks that waited for it.
func (f *Finished) Open(book *Writer) error {
	f.book = book
	for _, record := range f.early {
		if err := record(); err != nil {
			return err
		}
	}
	f.early = nil
	return nil
}

// OptOuts records a new opt-out list: its SHA-256 in hexadecimal digits and its number of entries.
func (w *Writer) OptOuts(ctx context.Context, sha256 string, entries int64) error {
	if !IsDigest(sha256) {
		return fmt.Errorf("ledger: the digest %.80q of an opt-out list is invalid", sha256)
	}
	return w.record(ctx, Mark{Kind: KindOptOuts, SHA256: sha256, Entries: entries})
}

// Fleet records which slots a member of a fleet took and gave, and which members it learned of.
func (w *Writer) Fleet(ctx context.Context, f Fleet) error {
	return w.record(ctx, Mark{Kind: KindFleet, Fleet: &f})
}

func (w *Writer) record(ctx context.Context, m Mark) error {
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

const maxRedacted = 5000 // things that one mark names, so that its line stays short

// Redact records a redaction durably, in several marks if it is large. It begins no run, unless the last run had another key.
func (w *Writer) Redact(ctx context.Context, r Redaction) error {
	return w.act(ctx, "redact", r.check(), func(at time.Time) {
		for more := true; more; more = len(r.Records)+len(r.Entries)+len(r.Files) > 0 {
			part := r
			part.Records, r.Records = apart(r.Records)
			part.Entries, r.Entries = apart(r.Entries)
			part.Files, r.Files = apart(r.Files)
			w.mark(Mark{Kind: KindRedaction, Time: at, Redaction: &part})
		}
	})
}

// act writes marks that may come between two runs, and makes them durable.
func (w *Writer) act(ctx context.Context, what string, invalid error, put func(at time.Time)) error {
	if err := cmp.Or(ctx.Err(), invalid); err != nil {
		return fmt.Errorf("ledger: %s: %w", what, err)
	}
	w.mu.Lock()
	err := w.refused()
	if err == nil {
		w.beginSegment()
		if w.foreign { // a checkpoint must have the key of its run
			w.ready()
		}
		put(time.Now())
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

// The acts of operators. Others may follow.
const (
	ActPause        = "pause"        // no exchange begins
	ActGoOn         = "unpause"      // the end of a pause
	ActDrain        = "drain"        // the run ends when the exchanges under way have
	ActPark         = "park"         // a host gets no turn
	ActRelease      = "release"      // the end of that or of a drop; a refused or retired host opens; held URLs are retried
	ActDrop         = "drop"         // pending URLs of a host are closed, all or some
	ActRetry        = "retry"        // closed URLs or hosts are tried again
	ActSeeds        = "add seeds"    // the scope is extended to them
	ActMaxPages     = "max-pages"    // a changed budget
	ActMaxPerHost   = "max-per-host" // a changed budget, like the next four
	ActMaxPerDomain = "max-per-domain"
	ActMaxPerTag    = "max-per-tag"
	ActMaxBytes     = "max-bytes"
	ActMaxTime      = "max-time"
	ActStopWhen     = "stop-when" // the conditions are others
	ActWindow       = "window"    // the window is another
	ActInclude      = "include"   // a pattern of the scope came, or went
	ActExclude      = "exclude"   // an exclusion pattern came, or went
	ActDelay        = "delay"     // the pause of all hosts, or of some, is longer
	ActOptOuts      = "opt-out"   // the opt-out lists were read again
	maxAct          = 32          // of the name of an act, in octets
	MaxAbout        = 2 << 10     // of Operator.About, in octets
	MaxNote         = 500         // of Operator.Note, in octets
)

// Operator is an act of an operator. It excuses nothing: politeness is judged by the requests and their times.
type Operator struct {
	Act      string        `json:"act"`
	About    string        `json:"about,omitzero"`           // the host, as an origin; the pattern or the budget, before and after. Only lines have the paths of seeds
	URLs     int64         `json:"urls,omitzero"`            // that it concerns, as far as that was known
	Note     string        `json:"note,omitzero"`            // in the operator's words; may be empty
	Hosts    string        `json:"whom,omitzero"`            // of ActDelay: a name, "*.example.org" for all below a name, or "*"
	Delay    time.Duration `json:"delay_ms,omitzero"`        // of ActDelay: the delay from here on
	Settings string        `json:"settings_sha256,omitzero"` // of the settings from here on; empty where they stay
}

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

// Operator records an act of an operator durably. It begins no run, unless the last run had another key.
func (w *Writer) Operator(ctx context.Context, o Operator) error {
	o.About, o.Note = cutTo(o.About, MaxAbout), cutTo(o.Note, MaxNote)
	return w.act(ctx, "operator", o.check(), func(at time.Time) {
		w.mark(Mark{Kind: KindOperator, Time: at, Operator: &o})
	})
}

func cutTo(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len("…")], "") + "…"
}
