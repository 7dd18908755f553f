package reconcile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
	"curtsy/storage/plainly"
)

// vouched follows the entries of a ledger to find its vouchers, and their times, by keys that the caller names. It builds
// the tree of the lines and keeps its root at each size of a checkpoint or given head. A different root vouched for is another
// ledger, or this one was changed.
type vouched struct {
	o     *Options
	tree  tree.Growing
	lost  bool             // entries are missing: no root is known after them
	at    map[int64]*point // by size: those for which there is a voucher
	sizes []int64          // of the stored checkpoints, ascending

	origin    string
	key       checkpoint.Key // of the current run in the ledger
	keys      []checkpoint.Key
	rotations []checkpoint.Rotation
	lines     int64   // decisions
	bare      int64   // the size at which the last checkpoint of this run should be, and is not; 0 for none
	gone      []int64 // such sizes, before a later checkpoint of the same run

	late uncovered
}

// point is the ledger at one size.
type point struct {
	root  [32]byte
	known bool
	key   checkpoint.Key // that must have signed it
	lines int64          // decisions so far
}

const (
	maxNamed = 1000
	maxGone  = 1000
)

func newVouched(o *Options) (*vouched, error) {
	l := &vouched{o: o, at: map[int64]*point{}}
	var err error
	if l.sizes, err = ledger.Checkpoints(o.Dir); err != nil {
		return nil, err
	}
	for _, size := range l.sizes {
		l.at[size] = &point{}
	}
	for _, h := range o.Heads {
		l.at[h.Size] = &point{}
	}
	if o.Kept != nil {
		l.at[o.Kept.Size] = &point{}
	}
	if p := l.at[0]; p != nil {
		p.root, p.known = l.tree.Root(), true
	}
	return l, nil
}

func (l *vouched) entry(e *ledger.Entry) {
	l.lost = l.lost || e.Index != l.tree.Size()
	if l.lost {
		return
	}
	l.tree.Append(e.Hash)
	switch m := e.Mark; {
	case m == nil:
		l.lines++
		l.late.line(&e.Line, e.Index)
	case m.Kind == ledger.KindBegin && l.origin == "":
		l.origin = m.Origin
	case m.Kind == ledger.KindHosts:
		l.committed(l.tree.Size())
	case m.Kind == ledger.KindStop:
		l.late.over = true
	case m.Kind == ledger.KindRun:
		l.late.end()
		l.bare = 0                            // a kill may have come before that checkpoint
		l.key, _ = checkpoint.ParseKey(m.Key) // an empty one is the zero Key
		l.name(l.key)
	case m.Kind == ledger.KindKey:
		l.key = m.Rotation.New
		l.name(l.key)
		if len(l.rotations) < maxNamed {
			l.rotations = append(l.rotations, m.Rotation)
		}
	}
	if p := l.at[l.tree.Size()]; p != nil {
		*p = point{l.tree.Root(), true, l.key, l.lines}
	}
}

// committed takes the mark that ends a checkpoint of size entries. A run that continues to the next one has made it.
func (l *vouched) committed(size int64) {
	if l.bare > 0 && len(l.gone) < maxGone {
		l.gone = append(l.gone, l.bare)
	}
	if l.bare = size; l.stored(size) {
		l.bare = 0
	} else if _, err := os.Lstat(ledger.CheckpointPath(l.o.Dir, size)); err != nil { // else a crawl that runs has just made it
		return
	}
	l.late.covered()
}

func (l *vouched) stored(size int64) bool {
	_, ok := slices.BinarySearch(l.sizes, size)
	return ok
}

func (l *vouched) name(k checkpoint.Key) {
	if !k.IsZero() && len(l.keys) < maxNamed && !slices.Contains(l.keys, k) {
		l.keys = append(l.keys, k)
	}
}

// known are the operator's keys that the auditor's leads to: a rotation is signed by both keys, so it leads both ways.
func (l *vouched) known() []checkpoint.Key {
	if l.o.Key.IsZero() {
		return nil
	}
	all := []checkpoint.Key{l.o.Key}
	has := map[checkpoint.Key]bool{l.o.Key: true}
	for i := 0; i < len(all); i++ {
		for _, r := range l.rotations {
			for _, pair := range [][2]checkpoint.Key{{r.Old, r.New}, {r.New, r.Old}} {
				if pair[0] == all[i] && !has[pair[1]] {
					has[pair[1]] = true
					all = append(all, pair[1])
				}
			}
		}
	}
	return all
}

// longest bounds exchanges without a checkpoint: one is due every ledger.Interval, and a large map takes a while to write.
const longest = ledger.Interval + ledger.Interval/2

const maxLate = 100 // findings

// uncovered follows a run's exchanges that no checkpoint covers. A kill leaves those of ledger.Interval at most, and a run
// begins with a checkpoint. Times exclude jumps of the clock: timers do not run while a computer sleeps. Exchanges that a later
// checkpoint of the run covers are not late: the process may have been stopped in between.
type uncovered struct {
	has   bool      // the run has a checkpoint
	over  bool      // it has its stop
	index int64     // of the first that is not covered
	first time.Time // when it ended; zero for none
	last  time.Time // when the last one did
	wrong []finding.Finding
}

func (u *uncovered) line(l *storage.Line, index int64) {
	if l.Began.IsZero() {
		return
	}
	if u.over {
		u.over = false // the first is enough
		u.report("the mark of a run before its requests (ledger reference)", fmt.Sprintf("the request in entry %d is after the stop "+
			"of its run", index))
	}
	at := l.Began.Add(l.Took - l.Ahead)
	if u.first.IsZero() {
		u.index, u.first, u.last = index, at, at
	}
	if at.Before(u.first) {
		u.first = at
	}
	if at.After(u.last) {
		u.last = at
	}
}

func (u *uncovered) covered() {
	u.has, u.first = true, time.Time{}
}

func (u *uncovered) end() {
	apart := u.last.Sub(u.first)
	switch {
	case u.first.IsZero():
	case !u.has:
		u.report("a checkpoint at the start of a run, before its first request (ledger reference)",
			fmt.Sprintf("the run of the request in entry %d has none", u.index))
	case apart > longest:
		u.report(fmt.Sprintf("a checkpoint every %.0f minutes while lines come: a kill leaves no more without one (ledger reference)",
			ledger.Interval.Minutes()), fmt.Sprintf("from entry %d on, %s of requests have none", u.index,
			finding.Round(apart)))
	}
	*u = uncovered{wrong: u.wrong}
}

func (u *uncovered) report(required, observed string) {
	if len(u.wrong) < maxLate {
		u.wrong = append(u.wrong, finding.Finding{Code: finding.LedgerRoot, Time: u.first, Required: required, Observed: observed})
	}
}

type vouching struct {
	*vouched
	*audit.LedgerCheck

	signer    checkpoint.Key   // of the latest checkpoint that is of these lines; zero without one that is signed
	lacks     []int64          // sizes of the given checkpoints that the ledger does not have
	friends   []checkpoint.Key // the auditor's key, and those that rotations lead to
	found     finding.Report
	forks     []fork
	good      int64                   // the largest size of a checkpoint that is signed, and of these lines
	vouchers  map[string]bool         // those in Lodged, by kind and name
	cosigners map[checkpoint.Key]bool // witnesses that cosigned a checkpoint, be it of these lines or not
	last      map[string]int          // index in Lodged of the last time, for each repeated voucher
}

// fork is a checkpoint of other lines, though the key of its run signed it.
type fork struct {
	size int64
	path string
}

func (l *vouched) judge(ctx context.Context, v *audit.LedgerCheck, found finding.Report) (*vouching, error) {
	v.Origin, v.Entries = l.origin, l.tree.Size()
	for _, k := range l.keys[:min(len(l.keys), maxKeys)] {
		v.Keys = append(v.Keys, k.String())
	}
	j := &vouching{vouched: l, LedgerCheck: v, friends: l.known(), found: found,
		vouchers: map[string]bool{}, cosigners: map[checkpoint.Key]bool{}, last: map[string]int{}}
	for _, size := range l.sizes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		path := ledger.CheckpointPath(l.o.Dir, size)
		n, err := ledger.ReadNote(path)
		if err != nil || n.Size != size {
			continue // the ledger's own check names it
		}
		j.note(n, path)
	}
	if n, err := ledger.ReadNote(filepath.Join(l.o.Dir, ledger.CheckpointName)); err == nil && l.stored(n.Size) {
		// Package ledger checks the signatures of the stored ones; this is the one that operators submit.
		if k := l.at[n.Size].key; !k.IsZero() && !n.SignedBy(k) {
			j.report(finding.LedgerSigner, filepath.Join(l.o.Dir, ledger.CheckpointName), "a latest checkpoint that the key of its run, "+
				k.Name()+", has signed", "it is not")
		}
	}
	for _, size := range l.gone {
		if _, err := os.Lstat(ledger.CheckpointPath(l.o.Dir, size)); err == nil {
			continue // a crawl that runs made it while the entries were read
		}
		j.report(finding.LedgerRoot, ledger.CheckpointPath(l.o.Dir, size), "each checkpoint of the ledger: a mark of hosts is "+
			"the last entry of one (ledger reference)", fmt.Sprintf("the checkpoint of %d entries is missing", size))
	}
	for _, f := range j.forks {
		if f.size < j.good {
			j.report(finding.LedgerFork, f.path, "one ledger: each checkpoint of an operator continues the one before",
				fmt.Sprintf("the operator's key has signed another tree of %d entries than these lines form, which a "+
					"later checkpoint of the same key stands for", f.size))
		}
	}
	l.late.end()
	for _, f := range l.late.wrong {
		f.Place.File = l.o.Dir
		found(f)
	}
	j.heads()
	j.kept()
	j.pinned()
	j.witnessed()
	covered := int64(-1)
	for _, d := range j.Lodged {
		covered = max(covered, d.Size)
	}
	if p := l.at[covered]; p != nil {
		j.Since = l.lines - p.lines
	}
	j.Signer = j.signer.String()
	return j, nil
}

func (j *vouching) report(code finding.Code, path, required, observed string) {
	j.found(finding.Finding{Code: code, Place: finding.Place{File: path}, Required: required, Observed: observed})
}

func (j *vouching) ours(origin string, size int64, root [32]byte) bool {
	p := j.at[size]
	return p != nil && p.known && p.root == root && (origin == "" || origin == j.origin)
}

func (j *vouching) note(n *checkpoint.Note, path string) {
	ours := j.ours(n.Origin, n.Size, n.Root)
	p := j.at[n.Size]
	signed := n.SignedBy(p.key)
	if ours {
		j.Head, j.Covered = n.Short(), n.Size
		j.signer, j.SignerKnown = checkpoint.Key{}, false
		if signed {
			j.signer = p.key
		}
		for _, k := range j.friends {
			if n.SignedBy(k) {
				j.signer, j.SignerKnown = k, true
				break
			}
		}
		if signed {
			j.good = n.Size
		}
	} else if signed && p.known && n.Origin == j.origin {
		j.forks = append(j.forks, fork{n.Size, path})
	}
	for _, w := range j.o.Witnesses {
		j.cosigned(n, path, w, ours)
	}
}

// lodged adds a voucher for the first entries. Of several times by one the first and the last are kept.
func (j *vouching) lodged(d audit.Lodging) {
	who := d.How + " " + d.By
	if at, again := j.last[who]; again {
		j.Lodged[at] = d
		return
	}
	if j.vouchers[who] {
		j.last[who] = len(j.Lodged)
	}
	j.vouchers[who] = true
	j.Lodged = append(j.Lodged, d)
}

func (j *vouching) cosigned(n *checkpoint.Note, path string, w checkpoint.Key, ours bool) {
	at, ok := n.Cosigned(w)
	j.cosigners[w] = j.cosigners[w] || ok
	switch {
	case ok && ours:
		j.lodged(audit.Lodging{How: audit.ByWitness, By: w.Name(), Size: n.Size, At: at})
	case ok && j.at[n.Size].known: // else lines are missing, which another check reports
		j.other(path, "the witness "+w.Name()+" has cosigned", n.Size)
	case ok:
	case slices.ContainsFunc(n.Signatures, func(s checkpoint.Signature) bool {
		return strings.HasPrefix(w.Cosigner(), fmt.Sprintf("%s+%08x+", s.Name, s.Hash))
	}):
		j.report(finding.Cosignature, path, "cosignatures of the witness "+w.Name()+" that its key has made",
			"an invalid one under its name")
	}
}

func (j *vouching) other(path, who string, size int64) {
	j.report(finding.LedgerFork, path, "one ledger for all: the lines lead to each checkpoint that others vouch for",
		fmt.Sprintf("%s a tree of %d entries that these lines do not form: others were shown another ledger, or this one "+
			"was changed since", who, size))
}

func (j *vouching) heads() {
	for _, h := range j.o.Heads {
		if wrong := j.missing(h); wrong != "" {
			j.report(finding.LedgerHead, j.o.Dir, "this ledger has the given checkpoint, "+h.Short(), wrong)
			j.lacks = append(j.lacks, h.Size)
			continue
		}
		j.lodged(audit.Lodging{How: audit.ByHead, By: h.Short(), Size: h.Size})
	}
}

// kept checks the checkpoint stored on the operator's machine. It submits nothing: no third party has seen it.
func (j *vouching) kept() {
	h := j.o.Kept
	if h == nil {
		return
	}
	if wrong := j.missing(*h); wrong != "" {
		j.report(finding.LedgerHead, j.o.Dir, "the newest checkpoint that your key signed for this ledger, kept in "+j.o.KeptIn+": "+h.Short(),
			wrong+"; or the directory is an older copy")
	}
}

// missing returns how the ledger lacks a head; "" if it has it.
func (j *vouching) missing(h checkpoint.Checkpoint) string {
	p := j.at[h.Size]
	switch {
	case h.Origin != "" && h.Origin != j.origin:
		return fmt.Sprintf("it is of the log %s, and this is %s", finding.Short(h.Origin), finding.Short(j.origin))
	case j.ours(h.Origin, h.Size, h.Root):
		return ""
	case !p.known && h.Size > j.tree.Size() && !j.lost:
		return fmt.Sprintf("the ledger has %s: the rest was cut off since, or it is another ledger", plainly.Count(j.tree.Size(), "line"))
	case !p.known:
		return "lines before it are missing"
	}
	return fmt.Sprintf("its first %s lead to %s: it is another ledger, or it was changed", plainly.Count(h.Size, "line"),
		checkpoint.Checkpoint{Size: h.Size, Root: p.root}.Short())
}

func (j *vouching) pinned() {
	if j.o.Key.IsZero() || j.SignerKnown {
		return
	}
	f := finding.Finding{Code: finding.LedgerKey, Place: finding.Place{File: j.o.Dir},
		Required: "a latest checkpoint that is signed by the key you know, " + j.o.Key.Name() +
			", or by one that it was rotated to (--key)"}
	var names []string
	for _, k := range j.keys[:min(len(j.keys), 4)] {
		names = append(names, k.Name())
	}
	switch {
	case j.Head == "":
		f.Observed = "no checkpoint is of these lines"
	case !j.signer.IsZero():
		f.Observed = "it is signed by " + j.signer.Name() + ": somebody else's ledger, or a key that was changed without a " +
			"rotation"
	case len(names) > 0:
		f.Observed = "it is not signed so; the ledger names " + strings.Join(names, ", ")
	default:
		f.Observed = "it has no signature"
	}
	j.found(f)
}

// witnessed reports each given witness that cosigned no checkpoint of the ledger.
func (j *vouching) witnessed() {
	for _, w := range j.o.Witnesses {
		if !j.cosigners[w] {
			j.report(finding.Cosignature, j.o.Dir, "a checkpoint that the witness "+w.Name()+" has cosigned (--witness-key)",
				"it has cosigned none: the ledger was never shown to it, or is another one")
		}
	}
}
