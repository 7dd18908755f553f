package reconcile

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/mediatype"
	"curtsy/storage/sorted"
)

type Options struct {
	Dir string // where its segments are

	Root     string // the crawl directory, whose files the ledger has marks of; empty for a package
	Settings string // file name of its settings
	Before   string // prefix of the names of older settings, stored while a run with new ones has not begun

	// Stated and Base return, for a package, the digest of a file that lacks a part, and the name of a file.
	Stated, Base func(path string) string

	Key       checkpoint.Key          // the operator's, as given to the auditor; zero for none
	Witnesses []checkpoint.Key        // whose cosignatures count
	Heads     []checkpoint.Checkpoint // submitted elsewhere
	Kept      *checkpoint.Checkpoint  // the newest one that the operator's own machine has kept; nil for none
	KeptIn    string                  // the file that holds it

	TempDir string // for data beyond Memory; empty means the system's
	Memory  int    // in bytes. Zero means 16 MiB
}

// Ledger is an audit.Witness that compares an archive, and the files of the crawl, with the ledger of the same crawl. It
// reads the ledger first, for the times of its runs. Both sides are sorted by the id of the record, in bounded memory.
type Ledger struct {
	o         Options
	check     *audit.LedgerCheck
	all       *sorted.Sorter
	runs      runs
	unsent    unsent
	size      int64 // of the ledger, when it was read
	running   bool  // it grew since then
	unended   bool  // the last run has no stop
	log       *vouched
	files     markedFiles
	maps      []*ledger.Mark // the last marks of hosts, at most two
	optOuts   optOuts
	optedOut  optedOut
	raised    raised
	odd       []finding.Finding // lines and marks that contradict their run
	tooSoon   []finding.Finding // changes in the first run, if that is the crawl's
	redacted  redacted
	taken     taken
	problem   []ledger.Entry
	silent    []*ledger.Mark // marks of runs that do not record a kill of the run before
	unset     []*ledger.Mark // those that record a step back of the clock, though no line before is so late
	latest    time.Time      // of lines and marks so far
	kills     []ledger.Entry // problems that a kill leaves: the lines are valid
	more      int64          // problems beyond maxProblems
	moreKills int64          // beyond as many
	last      int            // segment
	buf       []byte
}

var (
	_ audit.Witness  = (*Ledger)(nil)
	_ audit.Redactor = (*Ledger)(nil)
)

const maxProblems = 100 // kept faults of the ledger: the first one matters

// Open reads the ledger and returns it as an audit.Witness.
func Open(ctx context.Context, o Options) (*Ledger, error) {
	if o.Memory == 0 {
		o.Memory = 16 << 20
	}
	l := &Ledger{o: o, check: &audit.LedgerCheck{Dir: o.Dir}, all: sorted.New(o.TempDir, o.Memory), runs: newRuns(),
		optOuts: optOuts{map[listOf]bool{}, map[int]bool{}, map[int][]string{}, map[listOf]namedBy{}}}
	var err error
	l.log, err = newVouched(&l.o)
	if err == nil {
		l.size, err = sizeOf(o.Dir)
	}
	if err == nil {
		err = l.read(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("audit: %w", err), l.all.Close())
	}
	return l, nil
}

func (l *Ledger) read(ctx context.Context) error {
	segment := -1
	l.optedOut.open(l.o.Root)
	for e, err := range ledger.Scan(l.o.Dir) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if e.Problem == nil && e.Segment != segment {
			segment = e.Segment
			l.last = segment
			l.check.Segments++
		}
		if e.Problem == nil {
			l.log.entry(&e)
		}
		switch {
		case e.Problem != nil:
			l.fault(e)
		case e.Mark != nil:
			l.mark(&e)
		case e.Forgotten:
			l.check.Forgotten++
			l.redacted.pending = true // its neighbours show its time
		default:
			if err := l.line(&e); err != nil {
				return err
			}
		}
	}
	l.unended = l.runs.open
	l.runs.close()
	l.check.Runs, l.check.Crashes = l.runs.count, l.runs.crashed
	return l.taken.read(ctx, l.o.Dir, l.maps, l.redacted.bodies)
}

func (l *Ledger) fault(e ledger.Entry) {
	kept, more := &l.problem, &l.more
	if e.Problem.Fault == ledger.NoStop {
		kept, more = &l.kills, &l.moreKills
	}
	if len(*kept) == maxProblems {
		*more++
		return
	}
	*kept = append(*kept, e)
}

func (l *Ledger) mark(e *ledger.Entry) {
	m := e.Mark
	l.files.take(e.Index, m)
	l.redacted.mark(m)
	l.taken.mark(m)
	defer func() { l.latest = later(l.latest, m.Time) }()
	switch m.Kind {
	case ledger.KindRun:
		if l.runs.open && !m.Killed && len(l.silent) < maxProblems {
			l.silent = append(l.silent, m)
		}
		// Both are read off the clock in microseconds, and cut. A redacted line may have been so late.
		late := m.Time.Add(m.ClockBack - time.Millisecond)
		if m.ClockBack > 0 && l.check.Forgotten == 0 && l.latest.Before(late) && len(l.unset) < maxProblems {
			l.unset = append(l.unset, m)
		}
		l.runs.begin(m)
		l.optOuts.mark(l.runs.now(), m)
		l.optedOut.mark(m)
	case ledger.KindOptOuts:
		l.optOuts.mark(l.runs.now(), m)
		l.optedOut.mark(m)
		l.runs.trace(m.Time)
	case ledger.KindStop:
		l.runs.trace(m.Time)
		l.stop(m)
		l.runs.open = false
	case ledger.KindRedaction:
		l.runs.idle = true
	case ledger.KindOperator:
		l.raised.mark(m) // the mark of a crawl that was stopped, or killed, is not a trace of its last run
	case ledger.KindBegin, ledger.KindKey: // they come before the mark of the run that they are of
	case ledger.KindHosts:
		l.maps = append(l.maps[max(0, len(l.maps)-1):], m)
		l.runs.trace(m.Time)
	default:
		l.runs.trace(m.Time)
	}
}

func (l *Ledger) line(e *ledger.Entry) error {
	d := &e.Line
	l.check.Lines++
	l.runs.line(d.Time)
	l.latest = later(l.latest, d.Time)
	l.redacted.time(d.Time)
	place := fmt.Sprintf("segment %d line %d", e.Segment, e.Row)
	l.optOuts.line(l.runs.now(), d, place)
	l.optedOut.line(d, place)
	l.raised.line(d, place)
	l.changed(d, place)
	switch {
	case d.Record != "":
		return l.add(lineRow(place, d))
	case d.Attempt > 0 || !d.Began.IsZero():
		l.check.Unsent++
		l.unsent.add(d.URL, d.Time)
		return nil
	}
	l.check.Refusals++
	return l.add(refusalRow(true, place, d))
}

func (l *Ledger) add(a row) error {
	if a.line {
		a.run = l.runs.now()
	}
	l.buf = a.append(l.buf[:0])
	return l.all.Add(l.buf)
}

func (l *Ledger) Exchange(_ context.Context, e *evidence.Exchange, found finding.Report) error {
	l.check.Records++
	l.hides(e, found)
	l.repeats(e, found)
	l.stepped(e, found)
	return l.add(recordRow(e))
}

func (l *Ledger) Refused(_ context.Context, d *storage.Line, at finding.Place, _ finding.Report) error {
	return l.add(refusalRow(false, placeText(at), d))
}

func placeText(p finding.Place) string { return fmt.Sprintf("%s offset %d", p.File, p.Offset) }

func (l *Ledger) Close(ctx context.Context, r *audit.Result, found finding.Report) (err error) {
	defer func() { err = errors.Join(err, l.all.Close()) }()
	if err := l.groups(ctx, l.lastTraces); err != nil {
		return err
	}
	size, err := sizeOf(l.o.Dir)
	if err != nil {
		return err
	}
	l.running = size != l.size
	l.faults(found)
	l.storedMap(found)
	l.optOuts.judge(found)
	if l.optedOut.unread {
		r.CannotShow = append(r.CannotShow, "ledger: requests refused by an opt-out list that is not in the crawl directory as it was "+
			"then, or that had several versions: they are checked against the entries that lines name")
	}
	if !l.runs.moreArchived {
		l.odd = append(l.odd, l.tooSoon...)
	}
	for _, f := range slices.Concat(l.optedOut.findings, l.raised.wrong, l.odd) {
		found(f)
	}
	v, err := l.log.judge(ctx, l.check, found)
	if err != nil {
		return err
	}
	if err := l.compareFiles(ctx, r.Files, found); err != nil {
		return err
	}
	if err := l.groups(ctx, func(lines, records []row) { l.judge(lines, records, found) }); err != nil {
		return err
	}
	l.redacted.report(l.o.Dir, found)
	l.report(r, v)
	return nil
}

// maxGroup bounds the rows under one key that are compared. An honest archive has one on each side, except for refusals.
const maxGroup = 1024

func (l *Ledger) groups(ctx context.Context, show func(lines, records []row)) error {
	var key [16]byte
	var lines, records []row
	for b, err := range l.all.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		a := parseRow(b)
		if a.key != key || len(lines)+len(records) == maxGroup {
			show(lines, records)
			key, lines, records = a.key, lines[:0], records[:0]
		}
		if a.line {
			lines = append(lines, a)
		} else {
			records = append(records, a)
		}
	}
	show(lines, records)
	return nil
}

func (l *Ledger) lastTraces(lines, records []row) {
	both := min(len(lines), len(records))
	for i := range both {
		l.runs.paired(&lines[i])
	}
	for i := both; i < len(records); i++ {
		a := &records[i]
		if x := l.runs.known(l.runs.of(a.at().File)); x != nil {
			x.alone = later(x.alone, a.traced())
			if !a.refusal {
				x.withoutLine++
			}
		}
	}
}

func (l *Ledger) judge(lines, records []row, found finding.Report) {
	both := min(len(lines), len(records))
	for i := range both {
		differing := differences(&lines[i], &records[i])
		if of := l.runs.of(records[i].at().File); differing == "" && !lines[i].refusal && of != noRun &&
			!l.runs.alike(of, lines[i].run) {
			differing = fmt.Sprintf("the line is of run %d of the ledger, and the record's file of run %d", lines[i].run, of)
		}
		if differing != "" && l.redacted.body(&lines[i], &records[i]) {
			l.check.Redacted++
			differing = ""
		}
		if records[i].damaged && (differing == "" || records[i].gone) {
			continue
		}
		if differing != "" {
			f := lines[i].finding(finding.LedgerDiffers, "equal values in line and record of a request",
				lines[i].place+": "+differing)
			f.Place = records[i].at()
			found(f)
			continue
		}
		l.check.Agree++
	}
	for i := range lines[both:] {
		l.alone(&lines[both+i], finding.LedgerExtra, "every line of the ledger has its record in the archive",
			"has none", found)
	}
	for i := range records[both:] {
		l.alone(&records[both+i], finding.LedgerMissing, "every record of the archive has its line in the ledger",
			"has none", found)
	}
}

func (l *Ledger) alone(a *row, code finding.Code, required, observed string, found finding.Report) {
	f := a.finding(code, required, a.place+" "+observed)
	if code == finding.LedgerMissing {
		l.check.Untold++
	}
	if l.runs.inFlight(a, l.running) {
		l.check.InFlight++
		f.Code, f.Note, f.Observed = finding.CrashInFlight, true, f.Observed+": in flight at a crash"
	} else if x := l.runs.known(l.runs.of(f.File)); code == finding.LedgerMissing && x != nil && x.killed &&
		x.withoutLine > x.most() {
		f.Observed += fmt.Sprintf(", like %d requests of its run: a kill leaves %d at most", x.withoutLine, x.most())
	}
	found(f)
}

// Crashed reports whether a kill may have lost the record of a request that was sent between two instants.
func (l *Ledger) Crashed(from, to time.Time) bool { return l.runs.around(from, to) }

// NoLedger is the witness of a crawl directory without a ledger: an archive of this crawler must have one.
func NoLedger(dir string) audit.Witness { return &noLedger{dir: dir} }

type noLedger struct {
	audit.Silent

	dir  string
	ours bool
}

func (n *noLedger) Info(_ context.Context, in *evidence.Info, _ finding.Report) error {
	n.ours = n.ours || in.Ours
	return nil
}

func (n *noLedger) Close(_ context.Context, _ *audit.Result, found finding.Report) error {
	if n.ours {
		found(finding.Finding{
			Code: finding.LedgerLines, Place: finding.Place{File: n.dir},
			Required: "a ledger beside the archive of a crawl (ledger reference)",
			Observed: "the folder is missing",
		})
	}
	return nil
}

// row is an exchange or refusal of ledger or archive, in the form in which both are sorted by a common key.
type row struct {
	key     [16]byte // of the record's id, or of all of a refusal
	line    bool     // the ledger's
	refusal bool
	own     bool // of a host of the operator's own
	bare    bool // a record without metadata
	gone    bool // a record without its answer
	part    bool // a record without some of the bytes received
	damaged bool // a record of the exchange is unreadable, which is another finding
	run     int  // of a line: its number, by the marks before it
	place   string
	record  string
	began   int64 // Unix microseconds; a refusal's time
	ended   int64
	fields  []string // in the order of fieldNames
}

// fieldNames are the values that line and record must share. Those from blocks on need the metadata.
var fieldNames = [...]string{
	fieldURL: "URL", fieldTime: "time", fieldStatus: "status", fieldAddress: "address", fieldOctets: "octets",
	fieldType: "media type", fieldPayload: "payload", fieldCut: "truncation", fieldBlocks: "blocks of the records",
	fieldHeads: "heads of request and answer", fieldDecision: "decision", fieldOutcome: "outcome", fieldVerdict: "robots verdict",
	fieldPace: "pace", fieldRest: "rest", fieldDuration: "duration", fieldFound: "how it was found",
	fieldSaid: "directives of the response",
}

const (
	fieldURL = iota
	fieldTime
	fieldStatus
	fieldAddress
	fieldOctets
	fieldType
	fieldPayload
	fieldCut
	fieldBlocks // and with it all that needs the metadata
	fieldHeads
	fieldDecision
	fieldOutcome
	fieldVerdict
	fieldPace
	fieldRest
	fieldDuration
	fieldFound
	fieldSaid
)

// maxField bounds a field. A longer one is kept as its beginning and its hash.
const maxField = 300

func field(s string) string {
	s = strings.ReplaceAll(s, "\x00", "\ufffd")
	if len(s) <= maxField {
		return s
	}
	return fmt.Sprintf("%s… (SHA-256 %x)", strings.ToValidUTF8(s[:maxField], ""), sha256.Sum256([]byte(s)))
}

// exchangeRow begins the row of l for the exchange with that URL and beginning, under the id of its record.
func exchangeRow(line bool, record, place string, l *storage.Line, url string, began time.Time) row {
	record = strings.TrimSuffix(strings.TrimPrefix(record, "<"), ">")
	a := row{line: line, own: l.Own, place: place, key: keyOf(record), record: field(record), began: began.UnixMicro(),
		ended: began.Add(l.Took).UnixMicro()}
	a.fields = make([]string, len(fieldNames))
	set := func(i int, format string, args ...any) { a.fields[i] = field(fmt.Sprintf(format, args...)) }
	cut := func(d time.Duration) time.Duration { return d.Truncate(time.Microsecond) }
	a.fields[fieldURL], a.fields[fieldStatus] = field(url), strconv.Itoa(l.Status)
	a.fields[fieldTime] = began.UTC().Format("2006-01-02T15:04:05.000000Z")
	set(fieldDecision, "%s %s", evidence.Plain(string(l.Decision)), evidence.Plain(l.Reason))
	set(fieldOutcome, "%s %s, attempt %d, %d interim answers", evidence.Plain(string(l.Outcome)),
		evidence.Plain(string(l.Change)), l.Attempt, l.Interim)
	set(fieldVerdict, "line %d %q of group %q before %q in %s of %s by %s", l.RobotsLine, evidence.Plain(l.RobotsRule),
		evidence.Plain(l.RobotsGroup), evidence.Plain(l.RunnerUp),
		evidence.Plain(l.RobotsSHA256), evidence.Plain(strings.Trim(l.RobotsRecord, "<>")), evidence.Plain(l.Standard))
	set(fieldPace, "%v by %q, gap %v, clock ahead by %v", cut(l.Pace), evidence.Plain(string(l.PaceBy)), cut(l.Gap),
		cut(l.Ahead))
	set(fieldRest, "%v by %q", cut(l.Rest), evidence.Plain(string(l.RestBy)))
	set(fieldDuration, "%v, to the first byte %v, %q", cut(l.Took), cut(l.FirstByte), evidence.Plain(l.Truncated))
	set(fieldFound, "%s of %s, depth %d from %s %q, own %v", evidence.Plain(string(l.Kind)), evidence.Plain(l.Via), l.Depth,
		evidence.Plain(l.Seed), evidence.Plain(l.Tag), l.Own)
	set(fieldSaid, "%s %q %q, list %s", evidence.Plain(l.Directives), plainLines(l.Asked), plainLines(l.Prefs),
		evidence.Plain(l.List))
	return a
}

func lineRow(place string, l *storage.Line) row {
	a := exchangeRow(true, l.Record, place, l, l.URL, l.Began)
	a.fields[fieldAddress] = addressText(l.Addr.Addr())
	a.fields[fieldOctets] = strconv.FormatInt(l.Octets, 10)
	a.fields[fieldType], a.fields[fieldPayload], a.fields[fieldCut] = field(l.Type), field(l.Payload),
		field(l.Truncated)
	a.fields[fieldBlocks], a.fields[fieldHeads] = field(l.Blocks), field(l.Heads)
	return a
}

func recordRow(e *evidence.Exchange) row {
	d := storage.Line{Status: e.Status}
	status := e.Status
	if e.Line != nil {
		d, status = *e.Line, e.Line.Status
		if d.Status = e.Status; e.Cut == evidence.CutUnread && status == 0 {
			d.Status = 0 // its head may begin with a status, but it is not HTTP
		}
	}
	a := exchangeRow(false, cmp.Or(e.LeftOut, e.Record), placeText(e.Place), &d, e.URL, e.Began)
	if a.bare = e.Line == nil; !a.bare && status != d.Status {
		a.fields[fieldStatus] += fmt.Sprintf(", and %d in the metadata", status)
	}
	a.fields[fieldAddress] = addressText(e.Addr)
	a.fields[fieldOctets], a.fields[fieldType] = strconv.FormatInt(e.Octets, 10),
		field(mediatype.Of(http.Header{"Content-Type": e.Types}).Name)
	a.gone, a.damaged = e.LeftOut != "", e.Damaged.File != ""
	if a.part = !e.Whole; e.Answered {
		a.fields[fieldPayload] = field(strings.TrimPrefix(e.Payload, "sha256:"))
		if e.Payload == "" { // the body was left out, and the metadata has its digest
			a.fields[fieldPayload] = field(d.Payload)
		}
		a.fields[fieldCut] = field(e.Cut)
	} else {
		a.fields[fieldCut] = field(d.Truncated)
	}
	a.fields[fieldBlocks], a.fields[fieldHeads] = e.Blocks, e.Heads
	return a
}

func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.Unmap().WithZone("").String()
}

func plainLines(s string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(s, "\n") {
		if line = evidence.Plain(line); line != "" {
			b.WriteString(line + "; ")
		}
	}
	return b.String()
}

// refusalRow is a decision without an exchange, which is the same to the letter in both.
func refusalRow(line bool, place string, l *storage.Line) row {
	a := row{line: line, refusal: true, place: place, began: l.Time.UnixMicro(), ended: l.Time.UnixMicro()}
	sum := sha256.Sum256(append([]byte("refusal\x00"), l.AppendJSON(nil)...))
	copy(a.key[:], sum[:])
	a.fields = []string{field(l.URL), field(string(l.Decision) + " " + l.Reason)}
	return a
}

func (a *row) append(b []byte) []byte {
	b = append(b, a.key[:]...)
	var flags byte
	for i, f := range []bool{a.line, a.refusal, a.bare, a.own, a.part, a.gone, a.damaged} {
		if f {
			flags |= 1 << i
		}
	}
	b = append(b, flags)
	head := []string{a.place, a.record, strconv.FormatInt(a.began, 10), strconv.FormatInt(a.ended, 10),
		strconv.Itoa(a.run)}
	return append(b, strings.Join(append(head, a.fields...), "\x00")...)
}

func parseRow(b []byte) (a row) {
	copy(a.key[:], b)
	flags := b[16]
	a.line, a.refusal, a.bare, a.own = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
	a.part, a.gone, a.damaged = flags&16 != 0, flags&32 != 0, flags&64 != 0
	p := strings.Split(string(b[17:]), "\x00")
	a.place, a.record = p[0], p[1]
	a.began, _ = strconv.ParseInt(p[2], 10, 64)
	a.ended, _ = strconv.ParseInt(p[3], 10, 64)
	a.run, _ = strconv.Atoi(p[4])
	a.fields = p[5:]
	return a
}

func differences(line, record *row) string {
	var names []string
	for i, f := range line.fields {
		if i < len(record.fields) && !alike(i, line, record) && !(record.bare && i >= fieldBlocks) {
			names = append(names, fmt.Sprintf("%s: the line has %s, the record %s", fieldNames[i], f, record.fields[i]))
		}
	}
	return strings.Join(names, "; ")
}

func alike(i int, line, record *row) bool {
	l, r := line.fields[i], record.fields[i]
	if l == r || line.refusal {
		return l == r
	}
	switch i {
	case fieldStatus: // bytes that are not HTTP may begin with one; without metadata the record cannot show it
		return record.bare && l == "0" && record.fields[fieldCut] == evidence.CutUnread
	case fieldOctets: // of a revisit, or a body that was not kept, the archive has a part
		least, lerr := strconv.ParseInt(r, 10, 64)
		all, aerr := strconv.ParseInt(l, 10, 64)
		return record.part && lerr == nil && aerr == nil && least <= all
	case fieldType:
		return line.fields[fieldStatus] == "0" || record.gone && r == "" // not HTTP, or not in the archive
	case fieldPayload: // the metadata has the digest of a body that was not kept
		return record.part && (record.bare || record.gone) && r == ""
	case fieldBlocks, fieldHeads: // another check reports a missing digest or answer
		return r == ""
	}
	return false
}

func (a *row) finding(code finding.Code, required, observed string) finding.Finding {
	f := finding.Finding{Code: code, URL: a.fields[0], Place: a.at(), Time: fromMicro(a.began), Required: required,
		Observed: observed}
	f.Authority = evidence.AuthorityOf(f.URL)
	if a.refusal {
		f.Observed += " (" + a.fields[1] + ")"
	}
	return f
}

func (a *row) at() finding.Place {
	p := finding.Place{Record: a.record}
	if a.line {
		return p
	}
	if i := strings.LastIndex(a.place, " offset "); i >= 0 {
		p.File = a.place[:i]
		p.Offset, _ = strconv.ParseInt(a.place[i+len(" offset "):], 10, 64)
	}
	return p
}

func (a *row) traced() time.Time { return fromMicro(a.ended) }

func fromMicro(µs int64) time.Time { return time.UnixMicro(µs).UTC() }

// storedMap compares the stored map of hosts with its last mark. A kill may leave the map of the mark before.
func (l *Ledger) storedMap(found finding.Report) {
	n := len(l.maps)
	if n == 0 || l.running {
		return
	}
	file := filepath.Join(l.o.Dir, ledger.HostsName)
	nameless := l.check.Forgotten                                                          // a host loses its name when all its lines are redacted
	root, hosts, err := hostmap.Root(ledger.Hosts(l.o.Dir), func(e *hostmap.Entry) error { // the root binds only the keys
		if e.Host == "" {
			nameless -= e.Count
		}
		if (e.Host != "" || nameless < 0) && e.Key != hostmap.Key(l.log.origin, e.Host) {
			return fmt.Errorf("a host has the key of another: %s", finding.Short(e.Host))
		}
		return nil
	})
	same := func(m *ledger.Mark) bool { return root == m.Root && hosts == m.Hosts }
	switch {
	case err == nil && same(l.maps[n-1]):
		return
	case l.killedAtEnd() && err == nil && (n == 1 && hosts == 0 || n > 1 && same(l.maps[0])):
		return
	case err == nil:
		err = fmt.Errorf("its root is %s, of %d hosts", root, hosts)
	}
	found(finding.Finding{Code: finding.LedgerHosts, Place: finding.Place{File: file},
		Required: fmt.Sprintf("the map of %d hosts with the root %s, as the last mark of hosts has it", l.maps[n-1].Hosts,
			l.maps[n-1].Root), Observed: err.Error()})
}
