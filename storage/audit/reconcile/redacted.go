package reconcile

import (
	"crypto/sha256"
	"fmt"
	"time"

	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
)

// redacted is what the marks of redactions say was taken down. What they explain is told and is no violation; anything
// else that is missing or changed stays one.
type redacted struct {
	blocks  map[[16]byte]string // of records without their bodies: what their lines have as blocks, by the keys of rows
	told    []takedown
	more    int64 // takedowns beyond maxProblems
	stubs   [][2]int64
	before  time.Time // of the last line or mark that has one
	pending bool      // a stub came since
	full    bool      // there are too many records or stubs to keep them apart
}

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
	if t.blocks == nil {
		t.blocks = map[[16]byte]string{}
	}
	for _, of := range r.Records {
		if t.full = t.full || len(t.blocks) == maxTaken; t.full {
			break
		}
		if r.Extent == ledger.ExtentBodies {
			t.blocks[keyOf(of.ID)] = of.Blocks
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
	blocks, named := t.blocks[line.key]
	if !named || line.refusal || blocks != line.fields[fieldBlocks] || record.fields[fieldCut] != "unspecified" {
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
