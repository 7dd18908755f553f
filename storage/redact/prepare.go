package redact

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/frontier/durable"
	"curtsy/frontier/durable/meter"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/warc"
)

// Request names the subject to forget.
type Request struct {
	Dir     string // a crawl directory that the caller holds, with no segment left open
	Subject Subject
	All     bool     // everything, not only bodies
	Reason  string   // recorded in the ledger; may be empty
	OptOut  string   // the subject's reason in an opt-out list, for Journal.OptOut; may be empty
	Packed  []string // packed files, for Journal.Packed
}

const maxReason = 4 << 10 // bytes

var (
	ErrNothing    = errors.New("nothing of it is there")
	ErrDone       = errors.New("no body of it is there any more")
	ErrUnfinished = errors.New("forgetting was broken off") // the directory has a journal
)

// Find returns what Prepare would do. It returns its findings also with ErrNothing and ErrDone.
func Find(ctx context.Context, r Request) (Found, error) {
	a, _, err := r.find(ctx)
	if a == nil {
		return Found{}, err
	}
	return a.Found, err
}

func (r *Request) find(ctx context.Context) (*archived, *lines, error) {
	a, err := find(ctx, r.Dir, &r.Subject, r.All)
	if err != nil {
		return nil, nil, err
	}
	l, err := findLines(ctx, r.Dir, r, a)
	if err != nil {
		return nil, nil, err
	}
	a.Lines = int64(len(l.entries))
	switch {
	case a.Bodies+a.Records+a.Refusals+a.Lines > 0:
		return a, l, nil
	case a.Before > 0 && !r.All:
		return a, l, ErrDone
	}
	return a, l, ErrNothing
}

// Prepare finds the subject's parts, writes the new files, and then the journal, which Finish must follow. Without a journal
// nothing changed. Errors are ErrNothing, ErrDone and ErrUnfinished, among others.
func Prepare(ctx context.Context, r Request) (*Journal, error) {
	return prepare(ctx, r, &disk{dir: r.Dir})
}

func prepare(ctx context.Context, r Request, d *disk) (_ *Journal, err error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if d.there(JournalName) {
		return nil, ErrUnfinished
	}
	if err := d.now(d.removal(PreparedName)); err != nil { // of an interrupted Prepare
		return nil, err
	}
	a, l, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && !d.there(JournalName) {
			err = errors.Join(err, d.now(d.removal(PreparedName)))
		}
	}()
	j := &Journal{Format: journalFormat, Time: time.Now().UTC(), Subject: r.Subject.Text, Extent: r.extent(), Reason: r.Reason,
		Salt: newSalt(), Found: a.Found, Entries: l.entries, Hosts: l.hosts, OptOut: r.OptOut, Packed: r.Packed}
	j.Digest = Digest(j.Salt, j.Subject)
	for _, id := range a.ids {
		j.Records = append(j.Records, ledger.RedactedRecord{ID: id, Blocks: l.blocks[id]})
	}
	for _, name := range a.touched {
		files, err := a.rewrite(ctx, d, name)
		if err != nil {
			return nil, err
		}
		j.Files = append(j.Files, files...)
	}
	if err := j.findCopies(d); err != nil {
		return nil, err
	}
	return j, j.write(d)
}

func (r *Request) check() error {
	switch {
	case r.Subject.Text == "" || r.Subject.Covers == nil:
		return errors.New("forget: no subject")
	case len(r.Reason) > maxReason:
		return fmt.Errorf("redact: the reason is longer than %d bytes", maxReason)
	}
	return nil
}

func (r *Request) extent() string {
	if r.All {
		return ledger.ExtentAll
	}
	return ledger.ExtentBodies
}

func (a *archived) rewrite(ctx context.Context, d *disk, name string) (files []ledger.RedactedFile, err error) {
	segment, index := archiveDir+"/"+name, indexDir+"/"+strings.TrimSuffix(name, segmentSuffix)+indexSuffix
	for _, folder := range []string{archiveDir, indexDir} {
		if err := d.folder(PreparedName + "/" + folder); err != nil {
			return nil, err
		}
	}
	fresh := PreparedName + "/" + segment
	one, err := d.renewed(ctx, segment, func(w io.Writer) error { return warc.Rewrite(ctx, w, d.path(segment), a.edit) })
	if err != nil {
		return nil, err
	}
	files = append(files, one)
	if !d.there(index) { // the next run makes it
		return files, nil
	}
	one, err = d.renewed(ctx, index, func(w io.Writer) error {
		var bad error
		err := cdxj.Index(ctx, w, func(path string, f warc.Finding) {
			if bad == nil && !f.Note() {
				bad = fmt.Errorf("%s: %s", path, f)
			}
		}, d.path(fresh))
		return errors.Join(err, bad)
	})
	return append(files, one), err
}

// renewed prepares a new file of a name, and returns its digests before and after.
func (d *disk) renewed(ctx context.Context, name string, write func(w io.Writer) error) (f ledger.RedactedFile, err error) {
	_, before, err := durable.Digest(ctx, d.path(name))
	if err == nil {
		err = d.write(PreparedName+"/"+name, write)
	}
	var sum [sha256.Size]byte
	if err == nil {
		f.Octets, sum, err = durable.Digest(ctx, d.path(PreparedName+"/"+name))
	}
	f.Name, f.Before, f.SHA256 = name, hex.EncodeToString(before[:]), hex.EncodeToString(sum[:])
	return f, err
}

// findCopies notes other files that may hold copies.
func (j *Journal) findCopies(d *disk) error {
	for _, folder := range []string{archiveDir, ""} {
		entries, err := os.ReadDir(d.path(folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget: %w", err)
		}
		for _, e := range entries {
			name := filepath.ToSlash(filepath.Join(folder, e.Name()))
			if e.Type().IsRegular() && mayRemove(name) {
				j.Remove = append(j.Remove, name)
			}
		}
	}
	if d.there(spoolDir) {
		j.Remove = append(j.Remove, spoolDir)
	}
	for _, name := range []string{"report.json", "mirror"} {
		if d.there(name) {
			j.Made = append(j.Made, name)
		}
	}
	return nil
}

// Open returns the journal of a directory, to be finished, or nil. Without a journal it removes prepared files. The caller
// holds the directory.
func Open(dir string) (*Journal, error) {
	j, err := readJournal(dir)
	if j != nil || err != nil {
		return j, err
	}
	d := disk{dir: dir}
	return nil, d.now(d.removal(PreparedName))
}

// Pending reports whether a directory has a journal.
func Pending(dir string) bool { return (&disk{dir: dir}).there(JournalName) }

// Left reports whether a directory has a journal or prepared files. Without the directory's lock they may be in use.
func Left(dir string) bool {
	return Pending(dir) || (&disk{dir: dir}).there(PreparedName)
}

type lines struct {
	entries []int64           // that become stubs, ascending
	hosts   []string          // without remaining lines
	blocks  map[string]string // block digests (storage.Line.Blocks) of the exchanges that change, by their ids
}

func findLines(ctx context.Context, dir string, r *Request, a *archived) (*lines, error) {
	l := &lines{blocks: map[string]string{}}
	gone, stay := map[string]bool{}, map[string]bool{}
	n := 0
	for p, err := range ledger.Places((&disk{dir: dir}).path(ledgerDir)) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil && !r.All {
			break // its lines are read up to the damage; an audit reports more
		}
		if err != nil {
			return nil, fmt.Errorf("forget: %w; nothing was changed: curtsy audit shows the faults of the ledger", err)
		}
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if id := p.Line.Record; a.seen[id] {
			l.blocks[id] = p.Line.Blocks
		}
		if !r.All {
			continue
		}
		host := hostmap.Host(p.Line.URL)
		if !r.Subject.takes(&p.Line) {
			stay[host] = true
			continue
		}
		gone[host] = true
		l.entries = append(l.entries, p.Index)
	}
	maps.DeleteFunc(gone, func(host string, _ bool) bool { return stay[host] })
	l.hosts = slices.Sorted(maps.Keys(gone))
	return l, nil
}

// Found counts a subject's parts of a directory.
type Found struct {
	Bodies    int64 `json:"bodies"`    // responses that lose their bodies
	Records   int64 `json:"records"`   // records that go, requests and metadata among them
	Refusals  int64 `json:"refusals"`  // lines that go from the archive's records of refusals
	Lines     int64 `json:"lines"`     // lines of the ledger that become stubs
	Files     int64 `json:"files"`     // WARC files that are rewritten
	Before    int64 `json:"before"`    // responses of it whose bodies are gone already
	Robots    int64 `json:"robots"`    // answers for robots.txt, and proofs of ownership, that stay
	Elsewhere int64 `json:"elsewhere"` // answers of it whose body is archived under a URL that stays, and stays with it
	Repeats   int64 `json:"repeats"`   // answers of other URLs that repeat a body that goes, and lose it

	ElsewhereURLs []string `json:"elsewhere_urls,omitempty"` // the first of those URLs
}

const maxNamed = 10 // URLs in a Found

// archived are the subject's parts of the archive.
type archived struct {
	Found
	dir     string
	subject *Subject
	all     bool

	touched []string             // names of the segments with anything of it, in their order
	edits   map[string]warc.Fate // of the records that change, by their ids
	ids     []string             // of exchanges, as lines name them, in the order of the archive
	seen    map[string]bool      // those
	request string               // the id of the last request
}

// find reads the archive's complete segments: the caller has none left open.
func find(ctx context.Context, dir string, s *Subject, all bool) (*archived, error) {
	a := &archived{dir: dir, subject: s, all: all, edits: map[string]warc.Fate{}, seen: map[string]bool{}}
	names, err := segments(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		was := len(a.edits) + int(a.Refusals)
		if err := a.segment(ctx, filepath.Join(dir, archiveDir, name)); err != nil {
			return nil, err
		}
		if len(a.edits)+int(a.Refusals) > was {
			a.touched = append(a.touched, name)
		}
	}
	a.Files = int64(len(a.touched))
	return a, nil
}

// segments returns the names of the complete segments of an archive.
func segments(dir string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, archiveDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), segmentSuffix) && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(a) - len(b) }) // five digits, or more
	return names, err
}

var errDamaged = errors.New("nothing was changed, because the content after that place is unknown: " +
	"put a copy of the file back, or move it out of the directory (an audit then misses it), and run the command again")

func (a *archived) segment(ctx context.Context, path string) error {
	f, err := durable.Open(path)
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	defer f.Close()
	rd := warc.NewReader(meter.Reader(ctx, f))
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err == nil {
			err = a.record(rec)
		}
		if err == nil {
			_, err = rd.End()
		}
		if err != nil {
			return fmt.Errorf("forget: %s is damaged: %w; %w", path, err, errDamaged)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

func (a *archived) record(rec *warc.Record) error {
	if rec.IsRefusals() {
		if !a.all {
			return nil
		}
		n, _, err := a.without(rec)
		a.Refusals += n
		return err
	}
	if rec.ID() == "" {
		return fmt.Errorf("the record at offset %d has no id", rec.Offset)
	}
	url := rec.TargetURI()
	covered := url != "" && a.subject.Covers(url)
	switch rec.Type {
	case "revisit":
		a.revisit(rec, covered)
	case "request":
		a.request = rec.ID()
	}
	switch {
	case !covered && rec.Type == "metadata" && a.all && a.subject.Host:
		a.elsewhere(rec)
	case !covered:
		return nil
	case a.all:
		a.drop(rec)
	case rec.Type == "response":
		if err := a.response(rec); err != nil {
			return err
		}
	}
	if rec.Type == "metadata" {
		return a.metadata(rec)
	}
	return nil
}

// without returns the number of the subject's lines in a record of refusals, and the block without them. Invalid lines stay.
func (a *archived) without(rec *warc.Record) (n int64, block []byte, err error) {
	b, err := io.ReadAll(rec.Block)
	if err != nil {
		return 0, nil, err
	}
	for line := range strings.Lines(string(b)) {
		gone := false
		for l, err := range warc.ParseRefusals(strings.NewReader(line)) {
			gone = gone || err == nil && a.subject.takes(&l)
		}
		if gone {
			n++
			continue
		}
		block = append(block, line...)
	}
	return n, block, nil
}

func (a *archived) revisit(rec *warc.Record, covered bool) {
	of := rec.Fields.Get("WARC-Refers-To-Target-URI")
	switch _, goes := a.edits[strings.Trim(rec.Fields.Get("WARC-Refers-To"), "<>")]; {
	case covered && of != "" && !a.subject.Covers(of):
		a.Elsewhere++
		if len(a.ElsewhereURLs) < maxNamed && !slices.Contains(a.ElsewhereURLs, of) {
			a.ElsewhereURLs = append(a.ElsewhereURLs, of)
		}
	case !covered && goes:
		a.Repeats++
	}
}

func (a *archived) drop(rec *warc.Record) {
	a.edits[rec.ID()] = warc.Drop
	a.Records++
	switch rec.Type {
	case "response", "revisit":
		a.exchange(rec.ID())
	case "metadata":
		a.exchange(rec.ConcurrentTo())
	}
}

func (a *archived) exchange(id string) {
	if id != "" && !a.seen[id] {
		a.seen[id] = true
		a.ids = append(a.ids, id)
	}
}

// response marks a response to lose its body, if it has one.
func (a *archived) response(rec *warc.Record) error {
	head, err := warc.HTTPHead(rec.Block)
	switch {
	case err != nil:
		return err
	case int64(len(head)) == rec.Length:
		if rec.Fields.Get("WARC-Truncated") != "" {
			a.Before++
		}
		return nil
	}
	a.edits[rec.ID()] = warc.Reduce
	a.Bodies++
	a.exchange(rec.ID())
	return nil
}

func (a *archived) edit(rec *warc.Record) (warc.Edit, error) {
	if !rec.IsRefusals() {
		return warc.Edit{Fate: a.edits[rec.ID()]}, nil
	}
	if !a.all {
		return warc.Edit{}, nil
	}
	n, block, err := a.without(rec)
	switch {
	case err != nil || n == 0:
		return warc.Edit{}, err
	case len(block) == 0:
		return warc.Edit{Fate: warc.Drop}, nil
	}
	return warc.Edit{Fate: warc.Replace, Block: block}, nil
}

type Subject struct {
	Text   string            // as the operator wrote it
	Covers func(string) bool // reports whether a URL is of it
	Host   bool              // all of a host, or more: removing everything includes its robots.txt
}

// Digest identifies a subject in a redaction mark for those who know the salt, which the operator keeps or gives away.
func Digest(salt, subject string) string {
	sum := sha256.Sum256([]byte(salt + "\n" + subject))
	return hex.EncodeToString(sum[:])
}

// newSalt is 16 random octets in hexadecimal digits.
func newSalt() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// bound reports whether a line is of robots.txt or of a proof of ownership, which bound the crawl and stay. They go with all of
// a host, unless another host redirected there.
func (s *Subject) bound(l *storage.Line, all bool) bool {
	if l.Decision != storage.DecisionRobots && l.Decision != storage.DecisionOwner {
		return false
	}
	return !all || !s.Host || l.Via != "" && !s.Covers(l.Via)
}

// takes reports whether a line goes with everything of the subject.
func (s *Subject) takes(l *storage.Line) bool {
	return s.Covers(l.URL) && !s.bound(l, true) || s.ledTo(l)
}

// ledTo reports whether a line is of the target of a redirect of the subject's robots.txt. It goes with that, unless it is
// another host's /robots.txt, which binds that host.
func (s *Subject) ledTo(l *storage.Line) bool {
	_, rest, _ := strings.Cut(l.URL, "://")
	_, path, _ := strings.Cut(rest, "/")
	return s.Host && l.Decision == storage.DecisionRobots && l.Via != "" && s.Covers(l.Via) && path != "robots.txt"
}

// elsewhere drops the exchange of a metadata record if the subject's robots.txt redirected there.
func (a *archived) elsewhere(rec *warc.Record) {
	l, err := rec.Decision()
	if err != nil || !a.subject.ledTo(&l) { // an invalid line belongs to no subject
		return
	}
	id := rec.ConcurrentTo()
	a.exchange(id)
	for _, id := range []string{a.request, id, rec.ID()} {
		if _, goes := a.edits[id]; !goes {
			a.edits[id] = warc.Drop
			a.Records++
		}
	}
}

// metadata undoes the edits of an exchange that bound the crawl.
func (a *archived) metadata(rec *warc.Record) error {
	id := rec.ConcurrentTo()
	if _, changes := a.edits[id]; !changes {
		return nil
	}
	l, err := rec.Decision()
	if err != nil {
		return err
	}
	if !a.subject.bound(&l, a.all) {
		return nil
	}
	a.Robots++
	for _, id := range []string{a.request, id, rec.ID()} {
		switch fate, changes := a.edits[id]; {
		case changes && fate == warc.Reduce:
			a.Bodies--
		case changes:
			a.Records--
		}
		delete(a.edits, id)
	}
	delete(a.seen, id)
	a.ids = slices.DeleteFunc(a.ids, func(other string) bool { return other == id })
	return nil
}
