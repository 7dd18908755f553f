package reconcile

import (
	"context"
	"strings"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pacing"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
)

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

	bodies map[[16]byte]string // the payloads of records whose bodies marks name, as their lines have them, by the keys of rows
}

// mark takes a mark.
func (t *taken) mark(m *ledger.Mark) {
	if m.Kind == ledger.KindBegin {
		t.origin = m.Origin
	}
	if m.Kind != ledger.KindRedaction || m.Redaction == nil {
		return
	}
	if m.Redaction.Extent != ledger.ExtentAll {
		if t.bodies == nil {
			t.bodies = map[[16]byte]string{}
		}
		for _, of := range m.Redaction.Records {
			if len(t.bodies) < maxTaken {
				t.bodies[keyOf(of.ID)] = ""
			}
		}
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

// read goes through the ledger again, where something was taken down. maps are its last marks of hosts.
func (t *taken) read(ctx context.Context, dir string, maps []*ledger.Mark) error {
	if !t.any && len(t.bodies) == 0 {
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
		if _, gone := t.bodies[key]; gone {
			t.bodies[key] = e.Line.Payload
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
	payload, named := l.taken.bodies[keyOf(e.Repeats)]
	same := payload == "" || field(payload) == field(strings.TrimPrefix(e.Payload, "sha256:")) // a kill may have torn its line off
	if named && same || len(l.taken.bodies) == maxTaken {
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
