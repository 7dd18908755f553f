package reconcile

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pacing"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/optout"
	"curtsy/storage/plainly"
)

// optOuts compares the opt-out lists that lines name with those in force in their run: by warcinfo record and marks.
type optOuts struct {
	marked   map[listOf]bool    // by marks
	changed  map[int]bool       // runs whose lists changed
	declared map[int][]string   // of runs, by their warcinfo records
	named    map[listOf]namedBy // by lines
}

type listOf struct {
	run    int
	digest string
}

type namedBy struct {
	url   string
	time  time.Time
	place string
}

// maxLists bounds the lists: one changes a few times a day.
const maxLists = 10_000

func (o *optOuts) mark(run int, m *ledger.Mark) {
	digest := m.OptOuts
	if m.Kind == ledger.KindOptOuts {
		digest, o.changed[run] = m.SHA256, true
	}
	if len(o.marked) < maxLists {
		o.marked[listOf{run, digest}] = true
	}
}

func (o *optOuts) line(run int, l *storage.Line, place string) {
	of := listOf{run, l.List}
	if _, known := o.named[of]; l.List == "" || known || len(o.named) >= maxLists {
		return
	}
	o.named[of] = namedBy{l.URL, l.Time, place}
}

func (o *optOuts) info(run int, in *evidence.Info) {
	if _, known := o.declared[run]; known || len(o.declared) >= maxLists {
		return
	}
	o.declared[run] = listsIn(in)
}

func listsIn(in *evidence.Info) (lists []string) {
	for _, f := range in.Fields {
		if f[0] == "opt-out-sha256" {
			lists = append(lists, f[1])
		}
	}
	return lists
}

// judge reports lines with a list that was not in force. A mark has one digest for several lists, so a change hides which.
func (o *optOuts) judge(found finding.Report) {
	if len(o.marked) >= maxLists {
		return
	}
	for of, by := range o.named {
		lists, known := o.declared[of.run]
		if !known || o.marked[of] || slices.Contains(lists, of.digest) || o.changed[of.run] && len(lists) > 1 {
			continue
		}
		found(finding.Finding{Code: finding.OptOuts, URL: by.url, Authority: evidence.AuthorityOf(by.url), Time: by.time,
			Required: "a list of opt-outs that was in force, as the marks of the run and its warcinfo record have them",
			Observed: fmt.Sprintf("%s names the list %s", by.place, finding.Short(of.digest))})
	}
}

// optedOut checks requests against the entries of opt-out lists in force at their lines: those that a line names, and the
// whole list in the crawl directory while marks name it.
type optedOut struct {
	list   string         // digest of the lists in force, by the marks
	file   string         // digest of the list in the crawl directory; "" without one
	all    []optout.Entry // of that list
	unread bool           // a list that was in force is missing

	changed time.Time // when the lists changed within the run; zero if they did not

	inForce  optout.List
	entries  []entry         // of inForce, in its order
	has      map[string]bool // entries that lines name, with their list
	findings []finding.Finding
}

// entry is an entry in force (docs/trust/opt-out.md).
type entry struct {
	text, source string
	from         time.Time
	of           string // the authority to which it applies without a delay; "*" for all
}

// underWay is how long after an entry came into force a request that was decided before may begin.
const underWay = time.Minute

const (
	optOutName = "optout.txt" // in the crawl directory
	maxOptOuts = 16 << 20     // bytes of a list
	maxInForce = 1 << 20      // entries
)

func (o *optedOut) open(root string) {
	path := filepath.Join(root, optOutName)
	fi, err := os.Stat(path)
	if root == "" || err != nil || !fi.Mode().IsRegular() || fi.Size() > maxOptOuts {
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return // treated as missing
	}
	if l, err := optout.Parse(path, b); err == nil { // a list with mistakes was never in force, and cannot be checked
		o.file, o.all = fmt.Sprintf("%x", l.Digest()), l.Entries()
	}
}

func (o *optedOut) mark(m *ledger.Mark) {
	digest, of := m.OptOuts, "*"
	o.changed = time.Time{}
	if m.Kind == ledger.KindOptOuts {
		digest, of, o.changed = m.SHA256, "", m.Time
	}
	if digest == o.list && m.Kind == ledger.KindRun {
		return
	}
	o.list, o.inForce, o.entries, o.has = digest, optout.List{}, nil, nil
	switch {
	case digest == "":
	case digest != o.file:
		o.unread = true
	default:
		for _, e := range o.all {
			o.enter(entry{e.Text, "the list in force since " + finding.Clock(m.Time), m.Time, of})
		}
	}
}

// line takes a line: it names an entry, or is of a request that none may forbid.
func (o *optedOut) line(l *storage.Line, place string) {
	u, err := canon.Parse(l.URL)
	if err != nil {
		return
	}
	if l.List != "" && l.RobotsRule != "" && l.Record == "" {
		if l.List != o.list && !o.changed.IsZero() && l.Time.Before(o.changed.Add(underWay)) {
			return // perhaps decided with the lists before; with several lists the digest in force covers all
		}
		text, _, _ := strings.Cut(l.RobotsRule, " # ") // the reason follows
		if key := l.List + " " + text; !o.has[key] {
			if o.has == nil {
				o.has = map[string]bool{}
			}
			o.has[key] = true
			of := u.Authority().Origin()
			if l.Own { // several pages were requested at once
				of = ""
			}
			o.enter(entry{text, place, l.Time, of})
		}
		return
	}
	if l.Record == "" || l.Time.Before(l.Began) || len(o.entries) == 0 || len(o.findings) >= maxProblems {
		return
	}
	if e, under := o.find(u, l); under {
		o.findings = append(o.findings, finding.Finding{Code: finding.OptOuts, URL: l.URL, Authority: u.Authority().Origin(), Time: l.Began,
			Place:    finding.Place{Record: l.Record},
			Required: "nothing that an opt-out list refuses (politeness rule 16): " + finding.Short(e.text) + ", by " + e.source,
			Observed: fmt.Sprintf("%s: it was requested", place)})
	}
}

// enter puts an entry in force. An invalid one forbids nothing.
func (o *optedOut) enter(e entry) {
	if len(o.entries) < maxInForce && o.inForce.Add(e.text) == nil {
		o.entries = append(o.entries, e)
	}
}

func (o *optedOut) find(u canon.URL, l *storage.Line) (e entry, is bool) {
	addr := l.Addr.Addr()
	if l.Proxy != "" { // it is the proxy's address
		addr = netip.Addr{}
	}
	o.inForce.Under(u, addr, func(at int) bool {
		e = o.entries[at]
		from := e.from
		if e.of != "*" && e.of != u.Authority().Origin() {
			from = from.Add(underWay)
		}
		is = l.Began.After(from)
		return !is
	})
	return e, is
}

// redacted has the redactions by the ledger's marks. Any other omission or change is a violation.
type redacted struct {
	bodies    map[[16]byte]body // of records without their bodies, by the keys of rows
	takedowns []takedown
	more      int64 // takedowns beyond maxProblems
	stubs     [][2]int64
	before    time.Time // of the last line or mark that has one
	pending   bool      // a stub came since
	full      bool      // there are too many records or stubs to keep them apart
}

// body has the ledger's digests of a redacted body.
type body struct{ blocks, payload string } // as the mark has the first, and the line of its record the second

// takedown is one redaction, of one mark or several.
type takedown struct {
	at                      time.Time
	extent, reason, subject string
	records, lines, files   int64
}

// maxTaken bounds the records, and the runs of stubs.
const maxTaken = 1 << 20

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
	n := len(t.takedowns)
	if n == 0 || t.takedowns[n-1].subject != r.Subject {
		if n == maxProblems {
			t.more++
			return
		}
		t.takedowns = append(t.takedowns, takedown{at: m.Time, extent: r.Extent, reason: r.Reason, subject: r.Subject})
		n++
	}
	last := &t.takedowns[n-1]
	last.records += int64(len(r.Records))
	last.lines += int64(len(r.Entries))
	last.files += int64(len(r.Files))
}

func keyOf(id string) (key [16]byte) {
	sum := sha256.Sum256([]byte("record\x00" + field(id)))
	copy(key[:], sum[:])
	return key
}

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

// within reports whether a line about dated between two instants was redacted: lines of several hosts are a little out of order.
func (t *redacted) within(from, to time.Time) bool {
	const moment = 5 * time.Second
	first, last := from.Add(-moment).UnixMicro(), to.Add(moment).UnixMicro()
	return t.full && len(t.stubs) > 0 ||
		slices.ContainsFunc(t.stubs, func(s [2]int64) bool { return s[0] <= last && first <= s[1] })
}

// TakenDown reports whether a mark may have redacted the record of a request that was sent between two instants.
func (l *Ledger) TakenDown(from, to time.Time) bool { return l.redacted.within(from, to) }

// body reports whether a record differs from its line only in the body that a mark redacted: cut and without a payload.
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

func (t *redacted) report(dir string, found finding.Report) {
	for _, d := range t.takedowns {
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

// taken locates redacted lines: their stubs name no host, but the map of hosts counts all lines of each, in the order
// of the host's exchanges. A host without missing lines lost none, and between two lines at most one per stub.
type taken struct {
	any         bool
	exchanges   int // that marks name, redacted completely
	withoutLine int // of those, the ones without a line: a kill had torn it off

	origin  string
	counted bool                 // the map is that of the last checkpoint
	missing map[hostmap.Hash]int // lines that the map counts and the ledger lacks; only hosts with some
	before  map[[16]byte]int     // stubs since the line before of its host, by the keys of rows
	full    bool                 // there are too many of these
}

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
			t.withoutLine++
		}
	}
}

// read reads the ledger again if bodies or more were redacted. maps are its last marks of hosts.
func (t *taken) read(ctx context.Context, dir string, maps []*ledger.Mark, bodies map[[16]byte]body) error {
	if !t.any && len(bodies) == 0 {
		return nil
	}
	size := int64(0)
	root, n, err := hostmap.Root(ledger.Hosts(dir))
	for _, m := range maps {
		if err == nil && root == m.Root && n == m.Hosts { // else the crawl is running, or the audit reports it
			size, t.counted = m.Size, true
		}
	}
	seen := map[hostmap.Hash]int{}
	stubs, counts := 0, map[string]int{}
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
		if n := stubs - counts[name]; n > 0 {
			if t.full = t.full || len(t.before) == maxTaken; !t.full {
				t.before[key] = n
			}
		}
		counts[name] = stubs
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

// of returns the maximum number of redacted exchanges with the host of a URL.
func (t *taken) of(url string) int {
	if !t.counted {
		return t.exchanges
	}
	return min(t.missing[t.key(url)]+t.withoutLine, t.exchanges)
}

func (l *Ledger) Taken(e *evidence.Exchange) (of pacing.Taken) {
	t := &l.taken
	if t.exchanges == 0 {
		return of
	}
	of.InAll = t.of(e.URL)
	of.Before = t.before[keyOf(cmp.Or(e.LeftOut, e.Record))]
	if t.full || l.runs.mayLackLine(e) { // an exchange without a line has no place among the stubs
		of.Before = of.InAll
	}
	of.Before = min(of.Before, of.InAll)
	return of
}

// repeats compares a revisit with a response whose body was redacted; its line still has the digest of the payload.
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

// explains reports whether an exchange with e's host that ended at an instant may have been redacted.
func (l *Ledger) explains(e *evidence.Exchange, end time.Time) bool {
	t := &l.taken
	return l.redacted.within(end, end) && (!t.counted || t.missing[t.key(e.URL)] > 0) ||
		t.withoutLine > 0 && l.runs.mayLackLine(e)
}
