package reconcile

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pacing"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/plainly"
)

// redacted is what the marks of redactions say was taken down. What they explain is told and is no violation; anything
// else that is missing or changed stays one.
type redacted struct {
	bodies  map[[16]byte]body // of records without their bodies, by the keys of rows
	told    []takedown
	more    int64 // takedowns beyond maxProblems
	stubs   [][2]int64
	before  time.Time // of the last line or mark that has one
	pending bool      // a stub came since
	full    bool      // there are too many records or stubs to keep them apart
}

// body is what the ledger tells of a body that was taken down.
type body struct{ blocks, payload string } // as the mark has the first, and the line of its record the second

// takedown is one redaction, of one mark or several.
type takedown struct {
	at                      time.Time
	extent, reason, subject string
	records, lines, files   int64
}

// maxTaken bounds the records, and the stretches of lines, that are kept.
const maxTaken = 1 << 20

// mark takes a mark.
func (t *redacted) mark(m *ledger.Mark) {
	t.time(m.Time)
	r := m.Redaction
	if m.Kind != ledger.KindRedaction || r == nil {
		return
	}
	if t.bodies == nil {
		t.bodies = map[[16]byte]body{}
	}
	for _, of := range r.Records {
		if t.full = t.full || len(t.bodies) == maxTaken; t.full {
			break
		}
		if r.Extent != ledger.ExtentAll {
			t.bodies[keyOf(of.ID)] = body{blocks: of.Blocks}
		}
	}
	n := len(t.told)
	if n == 0 || t.told[n-1].subject != r.Subject {
		if n == maxProblems {
			t.more++
			return
		}
		t.told = append(t.told, takedown{at: m.Time, extent: r.Extent, reason: r.Reason, subject: r.Subject})
		n++
	}
	last := &t.told[n-1]
	last.records += int64(len(r.Records))
	last.lines += int64(len(r.Entries))
	last.files += int64(len(r.Files))
}

// keyOf is the key of the rows of a record.
func keyOf(id string) (key [16]byte) {
	sum := sha256.Sum256([]byte("record\x00" + field(id)))
	copy(key[:], sum[:])
	return key
}

// stub takes a line that was taken away. When it was written is known by its neighbours.
func (t *redacted) stub() { t.pending = true }

// time takes the time of a line or mark.
func (t *redacted) time(at time.Time) {
	if at.IsZero() {
		return
	}
	if t.pending {
		t.pending = false
		if t.full = t.full || len(t.stubs) == maxTaken; !t.full {
			t.stubs = append(t.stubs, [2]int64{t.before.UnixMicro(), at.UnixMicro()})
		}
	}
	t.before = at
}

// within reports whether a line of some time from one to the other was taken away, or nearly. A line is written a
// moment after what it tells of, and those of several hosts are not quite in the order of time.
func (t *redacted) within(from, to time.Time) bool {
	const moment = 5 * time.Second
	first, last := from.Add(-moment).UnixMicro(), to.Add(moment).UnixMicro()
	for _, s := range t.stubs {
		if s[0] <= last && first <= s[1] {
			return true
		}
	}
	return t.full && len(t.stubs) > 0
}

// TakenDown reports whether the record of a request that was sent at some instant from one to the other may have been
// taken down, as a mark says.
func (l *Ledger) TakenDown(from, to time.Time) bool { return l.redacted.within(from, to) }

// body reports whether a record differs from its line in nothing but the body that a mark says was taken: it is cut, it
// has no payload, and the line has the blocks that the mark has.
func (t *redacted) body(line, record *row) bool {
	of, named := t.bodies[line.key]
	if !named || line.refusal || of.blocks != line.fields[fieldBlocks] || record.fields[fieldCut] != "unspecified" {
		return false
	}
	bare := *line
	bare.fields = append([]string(nil), line.fields...)
	for _, i := range []int{fieldPayload, fieldCut, fieldBlocks} {
		bare.fields[i] = record.fields[i]
	}
	return differences(&bare, record) == ""
}

// tell names each takedown.
func (t *redacted) tell(dir string, found finding.Report) {
	for _, d := range t.told {
		what := "the bodies of " + plainly.Count(d.records, "record")
		if d.extent == ledger.ExtentAll {
			what = fmt.Sprintf("%s and %s", plainly.Count(d.records, "request"), plainly.Count(d.lines, "line"))
		}
		if d.files > 0 {
			what += fmt.Sprintf("; %s rewritten", plainly.Count(d.files, "file"))
		}
		if d.reason != "" {
			what += fmt.Sprintf("; the reason: %q", d.reason)
		}
		found(finding.Finding{Code: finding.TakenDown, Note: true, Time: d.at, Place: finding.Place{File: dir},
			Required: "nothing: the ledger has a mark of it (docs/trust/opt-out.md)", Observed: what})
	}
	if t.more > 0 {
		found(finding.Finding{Code: finding.TakenDown, Note: true, Place: finding.Place{File: dir},
			Required: "nothing: the ledger has marks of them (docs/trust/opt-out.md)", Observed: plainly.Count(t.more, "further redaction")})
	}
}

// taken says where what was taken down has been: its lines are stubs, which name no host. But the map of hosts counts all
// lines of each, and their order is that of the exchanges of a host. So a host of which no line is missing lost none,
// and between two of its lines it lost no more than there are stubs.
type taken struct {
	any       bool
	exchanges int // that marks name, with all that they had
	untold    int // of those, the ones without a line: a kill had torn it off

	origin  string
	counted bool                 // the map is that of the last checkpoint
	missing map[hostmap.Hash]int // lines that the map counts and that are not there, of hosts of which some are not
	before  map[[16]byte]int     // stubs since the line before of its host, by the keys of rows
	full    bool                 // there are too many of these
}

// mark takes a mark.
func (t *taken) mark(m *ledger.Mark) {
	if m.Kind == ledger.KindBegin {
		t.origin = m.Origin
	}
	if m.Kind != ledger.KindRedaction || m.Redaction == nil || m.Redaction.Extent != ledger.ExtentAll {
		return
	}
	t.any = true
	t.exchanges += len(m.Redaction.Records)
	for _, of := range m.Redaction.Records {
		if of.Blocks == "" {
			t.untold++
		}
	}
}

// read goes through the ledger again, where something was taken down: bodies, or more. maps are its last marks of hosts.
func (t *taken) read(ctx context.Context, dir string, maps []*ledger.Mark, bodies map[[16]byte]body) error {
	if !t.any && len(bodies) == 0 {
		return nil
	}
	size := int64(0)
	root, n, err := hostmap.Root(ledger.Hosts(dir))
	for _, m := range maps {
		if err == nil && root == m.Root && n == m.Hosts { // else the crawl goes on, or the audit names it
			size, t.counted = m.Size, true
		}
	}
	seen := map[hostmap.Hash]int{}
	stubs, met := 0, map[string]int{}
	t.before = map[[16]byte]int{}
	for e, err := range ledger.Skim(dir) {
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			return err
		case e.Forgotten:
			stubs++
		}
		if e.Problem != nil || e.Mark != nil || e.Forgotten {
			continue
		}
		if e.Index < size {
			seen[t.key(e.Line.URL)]++
		}
		if e.Line.Record == "" {
			continue
		}
		key := keyOf(e.Line.Record)
		if of, gone := bodies[key]; gone {
			bodies[key] = body{of.blocks, e.Line.Payload}
		}
		name := evidence.AuthorityOf(e.Line.URL)
		if n := stubs - met[name]; n > 0 {
			if t.full = t.full || len(t.before) == maxTaken; !t.full {
				t.before[key] = n
			}
		}
		met[name] = stubs
	}
	t.missing = map[hostmap.Hash]int{}
	for h, err := range ledger.Hosts(dir) {
		if err != nil {
			t.counted = false
			break
		}
		if n := int(h.Count) - seen[h.Key]; n > 0 {
			t.missing[h.Key] = n
		}
	}
	return nil
}

func (t *taken) key(url string) hostmap.Hash { return hostmap.Key(t.origin, hostmap.Host(url)) }

// of is how many exchanges with the host of a URL were taken down, at most.
func (t *taken) of(url string) int {
	if !t.counted {
		return t.exchanges
	}
	return min(t.missing[t.key(url)]+t.untold, t.exchanges)
}

// Taken implements audit.Redactor.
func (l *Ledger) Taken(e *evidence.Exchange) (of pacing.Taken) {
	t := &l.taken
	if t.exchanges == 0 {
		return of
	}
	of.InAll = t.of(e.URL)
	record := e.Record
	if e.LeftOut != "" {
		record = e.LeftOut
	}
	of.Before = t.before[keyOf(record)]
	if t.full || l.runs.mayLackLine(e) { // what has no line has no place among the stubs
		of.Before = of.InAll
	}
	of.Before = min(of.Before, of.InAll)
	return of
}

// repeats holds a revisit against an answer that has no body any more: that was taken down, and its line has the digest of
// its payload still.
func (l *Ledger) repeats(e *evidence.Exchange, found finding.Report) {
	if e.Repeats == "" {
		return
	}
	of, named := l.redacted.bodies[keyOf(e.Repeats)]
	same := of.payload == "" || field(of.payload) == field(strings.TrimPrefix(e.Payload, "sha256:")) // a kill may have torn its line off
	if named && same || l.redacted.full {
		return
	}
	observed := "that of " + e.Repeats + " is missing, and no mark records that it was redacted"
	if named {
		observed = "that of " + e.Repeats + ", which was redacted, was another by its line"
	}
	found(e.Finding(finding.BadRecord, "a revisit of an answer with the same payload digest (WARC 1.1, 6.7.2)", observed))
}

// mayLackLine reports whether a kill may have torn the line of an exchange off the ledger.
func (r *runs) mayLackLine(e *evidence.Exchange) bool {
	x := r.known(r.of(e.File))
	return x != nil && x.killed && e.End().After(x.last.Add(-atCrash))
}

// explains reports whether an exchange with the host of e may have been taken down that ended at an instant before e.
func (l *Ledger) explains(e *evidence.Exchange, end time.Time) bool {
	t := &l.taken
	return l.redacted.within(end, end) && (!t.counted || t.missing[t.key(e.URL)] > 0) ||
		t.untold > 0 && l.runs.mayLackLine(e)
}
