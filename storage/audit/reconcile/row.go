package reconcile

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/mediatype"
)

// row is what ledger or archive tells of one exchange or refusal, in the form in which both are sorted into one:
// what belongs together has one key.
type row struct {
	key     [16]byte // of the record's id, or of all of a refusal
	line    bool     // the ledger's
	refusal bool
	own     bool // of a host of the operator's own
	bare    bool // a record without metadata
	gone    bool // a record whose answer is left out
	part    bool // a record that does not hold all that was received
	damaged bool // a record of the exchange cannot be read, which is a finding of its own
	run     int  // of a line: its number, by the marks before it
	place   string
	record  string
	began   int64 // Unix microseconds; a refusal's time
	ended   int64
	fields  []string // in the order of fieldNames
}

// fieldNames are what line and record must tell alike. Those from blocks on need the metadata; what stands before is
// told by the records of request and answer alone.
var fieldNames = [...]string{
	fieldURL: "URL", fieldTime: "time", fieldStatus: "status", fieldAddress: "address", fieldOctets: "octets",
	fieldType:    "media type",
	fieldPayload: "payload", fieldCut: "truncation", fieldBlocks: "blocks of the records", fieldHeads: "heads of request and answer",
	fieldDecision: "decision", fieldOutcome: "outcome", fieldVerdict: "robots verdict", fieldPace: "pace",
	fieldRest:     "rest",
	fieldDuration: "duration", fieldFound: "how it was found", fieldSaid: "directives of the response",
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

// maxField bounds what is kept of a field. A longer one is kept as its beginning and its hash.
const maxField = 300

func field(s string) string {
	s = strings.ReplaceAll(s, "\x00", "\ufffd")
	if len(s) <= maxField {
		return s
	}
	return fmt.Sprintf("%s… (SHA-256 %x)", strings.ToValidUTF8(s[:maxField], ""), sha256.Sum256([]byte(s)))
}

// exchangeRow begins what l tells of the exchange with that URL and beginning, under the id of its record.
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

// lineRow is what a line of the ledger tells of an exchange.
func lineRow(place string, l *storage.Line) row {
	a := exchangeRow(true, l.Record, place, l, l.URL, l.Began)
	a.fields[fieldAddress] = addressText(l.Addr.Addr())
	a.fields[fieldOctets] = strconv.FormatInt(l.Octets, 10)
	a.fields[fieldType], a.fields[fieldPayload], a.fields[fieldCut] = field(l.Type), field(l.Payload),
		field(l.Truncated)
	a.fields[fieldBlocks], a.fields[fieldHeads] = field(l.Blocks), field(l.Heads)
	return a
}

// recordRow is what the archive tells of an exchange.
func recordRow(e *evidence.Exchange) row {
	d := storage.Line{Status: e.Status}
	told := e.Status
	if e.Line != nil {
		d, told = *e.Line, e.Line.Status
		if d.Status = e.Status; e.Cut == evidence.CutUnread && told == 0 {
			d.Status = 0 // its head begins with a status, and is none all the same
		}
	}
	record := e.Record
	if e.LeftOut != "" {
		record = e.LeftOut
	}
	a := exchangeRow(false, record, placeText(e.Place), &d, e.URL, e.Began)
	if a.bare = e.Line == nil; !a.bare && told != d.Status {
		a.fields[fieldStatus] += fmt.Sprintf(", and %d in the metadata", told)
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

// plainLines is plain for lines, of which empty ones are not written.
func plainLines(s string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(s, "\n") {
		if line = evidence.Plain(line); line != "" {
			b.WriteString(line + "; ")
		}
	}
	return b.String()
}

// refusalRow is a decision without an exchange. It stands in both to the letter.
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

// parseRow reads what append wrote.
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

// differences says what line and record tell differently; "" when nothing.
func differences(line, record *row) string {
	var said []string
	for i, f := range line.fields {
		if i < len(record.fields) && !alike(i, line, record) && !(record.bare && i >= fieldBlocks) {
			said = append(said, fmt.Sprintf("%s: the line has %s, the record %s", fieldNames[i], f, record.fields[i]))
		}
	}
	return strings.Join(said, "; ")
}

// alike reports whether line and record tell the same in a field.
func alike(i int, line, record *row) bool {
	l, r := line.fields[i], record.fields[i]
	if l == r || line.refusal {
		return l == r
	}
	switch i {
	case fieldStatus: // what is no HTTP may begin with one; without metadata the record does not say that it is none
		return record.bare && l == "0" && record.fields[fieldCut] == evidence.CutUnread
	case fieldOctets: // of a revisit, or a body that was not kept, the archive has a part
		least, lerr := strconv.ParseInt(r, 10, 64)
		all, aerr := strconv.ParseInt(l, 10, 64)
		return record.part && lerr == nil && aerr == nil && least <= all
	case fieldType:
		return line.fields[fieldStatus] == "0" || record.gone && r == "" // of what is no HTTP, or not there
	case fieldPayload: // the digest of a body that was not kept stands in the metadata
		return record.part && (record.bare || record.gone) && r == ""
	case fieldBlocks, fieldHeads: // which says elsewhere that it lacks a digest, or has no answer
		return r == ""
	}
	return false
}

// finding makes a finding about a.
func (a *row) finding(code finding.Code, required, observed string) finding.Finding {
	f := finding.Finding{Code: code, URL: a.fields[0], Place: a.at(), Time: fromMicro(a.began), Required: required,
		Observed: observed}
	f.Authority = evidence.AuthorityOf(f.URL)
	if a.refusal {
		f.Observed += " (" + a.fields[1] + ")"
	}
	return f
}

// at is a record's place.
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

// traced is when the exchange had ended, or the refusal was decided.
func (a *row) traced() time.Time { return fromMicro(a.ended) }

func fromMicro(µs int64) time.Time { return time.UnixMicro(µs).UTC() }

// storedMap holds the map of hosts that is stored against the last mark of one. Package ledger holds the marks against
// the lines. A kill may leave the map of the mark before, which the next run makes good.
func (l *Ledger) storedMap(found finding.Report) {
	n := len(l.maps)
	if n == 0 || l.running {
		return
	}
	file := filepath.Join(l.o.Dir, ledger.HostsName)
	root, hosts, err := hostmap.Root(l.named())
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

var errKey = errors.New("a host has the key of another")

// named are the hosts of the stored map, whose keys must be those of their names: the root holds the keys alone. A host
// has no name any more when all its lines were taken away.
func (l *Ledger) named() func(yield func(hostmap.Entry, error) bool) {
	return func(yield func(hostmap.Entry, error) bool) {
		nameless := l.check.Forgotten
		for e, err := range ledger.Hosts(l.o.Dir) {
			if e.Host == "" {
				nameless -= e.Count
			}
			if err == nil && (e.Host != "" || nameless < 0) && e.Key != hostmap.Key(l.log.origin, e.Host) {
				err = fmt.Errorf("%w: %s", errKey, finding.Short(e.Host))
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
