package vouch

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
)

// Options say where a ledger is, and who is known.
type Options struct {
	Dir       string
	Key       checkpoint.Key   // of the operator, as the auditor knows it; zero for none
	Witnesses []checkpoint.Key // whose cosignatures count
	Heads     []Head
	Kept      *Head  // the newest head of this ledger that the operator's own machine has kept; nil for none
	KeptIn    string // the file that holds it
}

// Log follows the entries of a ledger.
type Log struct {
	o     Options
	tree  tree.Growing
	lost  bool             // entries are missing: no root is known behind them
	at    map[int64]*point // by size: of which somebody tells
	sizes []int64          // of the stored checkpoints, ascending

	origin    string
	key       checkpoint.Key // of the run that the ledger tells of
	keys      []checkpoint.Key
	rotations []checkpoint.Rotation
	lines     int64   // decisions
	bare      int64   // the size at which the last checkpoint of this run should be, and is not; 0 for none
	gone      []int64 // such sizes, of which a later checkpoint of the same run is there

	late uncovered
}

// point is the ledger at one size.
type point struct {
	root  [32]byte
	known bool
	key   checkpoint.Key // that must have signed it
	lines int64          // decisions so far
}

// maxKeys bounds the keys and rotations that are kept, maxGone the checkpoints that are missed.
const (
	maxKeys = 1000
	maxGone = 1000
)

// New returns a Log of the ledger in o.Dir, which has read nothing yet.
func New(o Options) (*Log, error) {
	l := &Log{o: o, at: map[int64]*point{}}
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

// Entry takes the next entry.
func (l *Log) Entry(e *ledger.Entry) {
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
		l.key, _ = checkpoint.ParseKey(m.Key) // an empty one is none
		l.name(l.key)
	case m.Kind == ledger.KindKey:
		l.key = m.Rotation.New
		l.name(l.key)
		if len(l.rotations) < maxKeys {
			l.rotations = append(l.rotations, m.Rotation)
		}
	}
	if p := l.at[l.tree.Size()]; p != nil {
		*p = point{l.tree.Root(), true, l.key, l.lines}
	}
}

// committed takes the mark that a checkpoint of so many entries ends in. A run that goes on to the next has made it.
func (l *Log) committed(size int64) {
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

func (l *Log) stored(size int64) bool {
	_, ok := slices.BinarySearch(l.sizes, size)
	return ok
}

// name takes a key that the ledger names.
func (l *Log) name(k checkpoint.Key) {
	if k.IsZero() || len(l.keys) >= maxKeys {
		return
	}
	for _, other := range l.keys {
		if other == k {
			return
		}
	}
	l.keys = append(l.keys, k)
}

// Origin is that of the ledger.
func (l *Log) Origin() string { return l.origin }

// Keys are the keys that the ledger names, in its order.
func (l *Log) Keys() []checkpoint.Key { return l.keys }

// known are the operator's keys as far as the auditor's leads: a rotation is signed by both keys, so it leads to the
// later one and to the earlier one.
func (l *Log) known() []checkpoint.Key {
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

// Head is what was lodged elsewhere: the size of a ledger and the root of its tree then.
type Head struct {
	Origin string // empty where it is not told
	Size   int64
	Root   [32]byte
}

// HeadOf is the head that a checkpoint is.
func HeadOf(c checkpoint.Checkpoint) Head { return Head{c.Origin, c.Size, c.Root} }

// String is h as ParseHead reads it.
func (h Head) String() string {
	return strconv.FormatInt(h.Size, 10) + ":" + hex.EncodeToString(h.Root[:])
}

var errHead = errors.New("not a checkpoint: give the output of curtsy ledger checkpoint, or SIZE:HEX (the number of " +
	"lines and the 64 digits of the root)")

// ParseHead reads a head: SIZE:HEX, or a note, of which no signature is checked: it was the auditor who kept it.
func ParseHead(text string) (Head, error) {
	short := strings.TrimSpace(text)
	if digits, root, ok := strings.Cut(short, ":"); ok && !strings.Contains(short, "\n") {
		h := Head{}
		size, err := strconv.ParseUint(digits, 10, 63)
		b, herr := hex.DecodeString(strings.ToLower(root))
		if err != nil || herr != nil || len(b) != len(h.Root) {
			return Head{}, errHead
		}
		h.Size, h.Root = int64(size), [32]byte(b)
		return h, nil
	}
	n, err := checkpoint.Parse([]byte(text))
	if err != nil {
		return Head{}, errHead
	}
	return HeadOf(n.Checkpoint), nil
}

// longest is by how much exchanges without a checkpoint may be apart: one is due every ledger.Interval while lines come, and
// the map of a large crawl takes a while to write.
const longest = ledger.Interval + ledger.Interval/2

// maxLate bounds the findings.
const maxLate = 100

// uncovered follows the exchanges of a run that no checkpoint covers. A kill leaves those of ledger.Interval at most, and
// none in a run without a checkpoint, for a run begins with one. Times are read without the jumps of the clock that the
// lines tell of: timers do not run while a computer sleeps. What a later checkpoint of the same run covers was not late:
// the process may have been stopped in between.
type uncovered struct {
	has   bool      // the run has a checkpoint
	over  bool      // it has its stop
	index int64     // of the first that is not covered
	first time.Time // when it ended; zero for none
	last  time.Time // when the last one did
	wrong []finding.Finding
}

// line takes a decision.
func (u *uncovered) line(l *storage.Line, index int64) {
	if l.Began.IsZero() {
		return
	}
	if u.over {
		u.over = false // the first is enough
		u.say("the mark of a run before its requests (ledger reference)", fmt.Sprintf("the request in entry %d is after the stop "+
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

// covered takes a checkpoint of all lines so far.
func (u *uncovered) covered() {
	u.has, u.first = true, time.Time{}
}

// end takes the end of a run.
func (u *uncovered) end() {
	apart := u.last.Sub(u.first)
	switch {
	case u.first.IsZero():
	case !u.has:
		u.say("a checkpoint at the start of a run, before its first request (ledger reference)",
			fmt.Sprintf("the run of the request in entry %d has none", u.index))
	case apart > longest:
		u.say(fmt.Sprintf("a checkpoint every %.0f minutes while lines come: a kill leaves no more without one (ledger reference)",
			ledger.Interval.Minutes()), fmt.Sprintf("from entry %d on, %s of requests have none", u.index,
			finding.Round(apart)))
	}
	*u = uncovered{wrong: u.wrong}
}

func (u *uncovered) say(required, observed string) {
	if len(u.wrong) < maxLate {
		u.wrong = append(u.wrong, finding.Finding{Code: finding.LedgerRoot, Time: u.first, Required: required, Observed: observed})
	}
}
