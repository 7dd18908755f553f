package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
)

// recovery finds where a ledger is: from its latest checkpoint if tiles and hosts fit it, else from its first line.
type recovery struct {
	w       *Writer
	numbers []int            // of the segments
	note    *checkpoint.Note // the latest; nil for none

	committed int64 // entries of the checkpoint
	mapped    int64 // entries of its map
	hosts     *Mark // that states the map

	index  int64  // of the next line
	first  int64  // from where on lines are read again
	tiles  bool   // tiles are made anew
	anew   bool   // hosts are made anew
	packed bool   // the last segment that was read is
	told   bool   // a run began or stopped in what was read
	key    string // of the run that the lines end in

	bare   *Mark                 // of a map whose checkpoint is not there
	missed checkpoint.Checkpoint // that it is to end in
	stubs  int64                 // lines of which no host is known
}

// maxRead is how many entries are gathered before map and tiles take them in, when lines are read again.
const maxRead = 1 << 18

// recover goes on with what is in the segments.
func (w *Writer) recover(numbers []int) (err error) {
	r := recovery{w: w, numbers: numbers}
	if r.note, err = latest(w.dir); errors.Is(err, ErrNoCheckpoint) {
		r.note = nil
	} else if err != nil {
		return fmt.Errorf("%w; every checkpoint is in %s as well: copy the last one there", err, CheckpointFolderOf(w.dir))
	}
	if err := r.start(); err != nil {
		return err
	}
	if err := errors.Join(r.read(), r.rotations()); err != nil {
		return err
	}
	return r.finish()
}

// lost says that the lines are not those of the checkpoint. Going on would sign another log under the same name.
func (r *recovery) lost(format string, args ...any) error {
	return fmt.Errorf("the checkpoint of %d entries is not of these lines: %s; curtsy audit shows where. Put a copy back, or "+
		"move %s away, and the next run begins a new ledger", r.note.Size, fmt.Sprintf(format, args...), r.w.dir)
}

// start finds the place from which lines are to be read, and what follows from them and fits.
func (r *recovery) start() (err error) {
	w := r.w
	own := w.options.Signer.VerifierKey()
	if r.note == nil {
		r.tiles, r.anew, r.key = true, true, own
		return r.empty()
	}
	switch {
	case own == "" && len(r.note.Signatures) == 0, r.note.SignedBy(w.options.Signer.Key()):
		r.key = own
	default:
		r.key = "another"
	}
	r.committed = r.note.Size
	w.origin = r.note.Origin
	if r.hosts, err = r.entry(r.committed - 1); err != nil {
		return err
	}
	r.mapped = r.hosts.Size
	if w.commits.tiles, err = tree.OpenTiles(w.dir, r.note.Size, r.note.Root); err == nil {
		w.tree, err = tree.Resume(tree.Reader(w.dir, r.note.Size, r.note.Root), r.note.Size)
	}
	if err != nil && !errors.Is(err, tree.ErrTiles) {
		return err
	}
	r.tiles = err != nil
	if r.anew, err = r.hostsDiffer(); err != nil {
		return err
	}
	if r.first = r.mapped; r.tiles || r.anew {
		r.first = 0
	}
	if r.tiles {
		w.tree = new(tree.Growing)
	}
	return r.empty()
}

// empty begins anew what is made anew.
func (r *recovery) empty() (err error) {
	w := r.w
	if r.tiles {
		if w.commits.tiles, err = tree.NewTiles(w.dir); err != nil {
			return err
		}
	}
	if r.anew {
		for _, name := range []string{HostsName, HostsName + newSuffix} {
			if err := w.sys.remove(filepath.Join(w.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// entry reads the mark of hosts that a checkpoint ends in.
func (r *recovery) entry(index int64) (m *Mark, err error) {
	at, err := r.segmentOf(index)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		return nil, r.lost("no entry %d", index)
	}
	for t, err := range r.lines(r.numbers[at]) {
		if err != nil {
			return nil, err
		}
		if t.Index != index {
			continue
		}
		if m, err = ParseMark(t.Line); err != nil || m.Kind != KindHosts {
			return nil, r.lost("its last entry is not a mark of hosts")
		}
		return m, nil
	}
	return nil, r.lost("no entry %d", index)
}

// segmentOf is the place in numbers of the segment that holds an entry, or -1.
func (r *recovery) segmentOf(index int64) (int, error) {
	for at := len(r.numbers) - 1; at >= 0; at-- {
		for t, err := range r.lines(r.numbers[at]) {
			if err != nil || t.Index <= index {
				return at, err
			}
			break
		}
	}
	return -1, nil
}

// lines are the whole lines of a segment. An error is the last.
func (r *recovery) lines(number int) iter.Seq2[Text, error] {
	return func(yield func(Text, error) bool) {
		for t, err := range texts(r.w.dir, []int{number}) {
			if r.packed = t.at.packed; err == nil && t.at.n == 1 {
				if m, merr := ParseMark(t.Line); merr == nil && m.Schema > Schema {
					err = fmt.Errorf("%s is of schema %d, of a later version; schema %d is known", t.at.path, m.Schema, Schema)
				}
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// read reads the lines again from the first on.
func (r *recovery) read() error {
	at, err := r.segmentOf(r.first)
	if err != nil {
		return err
	}
	if first := r.numbers; at < 0 && len(first) > 0 && first[0] > 0 {
		return fmt.Errorf("segment 0 is missing: put it back, or move %s away, and the next run begins a new ledger", r.w.dir)
	}
	for _, number := range r.numbers[max(at, 0):] {
		begun := false
		for t, err := range r.lines(number) {
			switch {
			case err != nil:
				return err
			case !begun && t.Index != r.index && r.index > 0:
				return fmt.Errorf("segment %d begins with entry %d, and the one before ends in front of %d: curtsy audit "+
					"says more", number, t.Index, r.index)
			}
			r.index = t.Index
			if !begun {
				begun = true
				if err := r.begin(number, t.Line); err != nil {
					return err
				}
			}
			if err := r.line(t.Line); err != nil {
				return err
			}
		}
	}
	if len(r.numbers) > 0 && r.w.begun && r.packed {
		r.w.next()
	}
	return nil
}

// begin takes the mark of a segment.
func (r *recovery) begin(number int, line []byte) error {
	m, err := ParseMark(line)
	if err != nil {
		return err
	}
	w := r.w
	if w.origin == "" {
		w.origin = m.Origin
	}
	if w.origin != m.Origin {
		return fmt.Errorf("segment %d is of the log %.80q, not of %.80q: it belongs to another ledger", number, m.Origin, w.origin)
	}
	w.lines, w.here = m.Lines, 0
	w.begun = number == w.number
	return nil
}

// line takes the line at r.index.
func (r *recovery) line(line []byte) error {
	w := r.w
	r.index++
	if !IsMark(line) {
		w.lines, w.here = w.lines+1, w.here+1
	} else if m, err := ParseMark(line); err == nil {
		r.mark(m)
	}
	if t := timeOf(line); !t.IsZero() {
		w.last = t
	}
	if r.index <= r.first {
		return nil
	}
	h := HashOf(w.hasher, line)
	host, mapped := placeOf(line)
	if !mapped && IsStub(line) {
		r.stubs++
	}
	if r.index <= r.mapped && !r.anew {
		mapped = false // the map has it
	}
	if w.tail.size() < r.index-1 {
		w.tail.reset(r.index - 1)
	}
	w.tail.add(h, host, mapped)
	if r.index > w.tree.Size() {
		w.tree.Append(h)
	}
	if r.index == r.missed.Size {
		r.missed.Root = w.tree.Root()
	}
	if r.index == r.committed && r.tiles && w.tree.Root() != r.note.Root {
		return r.lost("they lead to another root")
	}
	if r.index == r.mapped && r.anew || len(w.tail.hashes) >= maxRead || len(w.tail.names) >= maxChanged {
		return r.absorb()
	}
	return nil
}

// mark takes a mark.
func (r *recovery) mark(m *Mark) {
	switch m.Kind {
	case KindHosts:
		if r.index > r.committed && r.key == r.w.options.Signer.VerifierKey() {
			r.bare, r.missed.Size = m, r.index
		}
	case KindKey:
		r.key = m.Rotation.New.String()
	case KindRun:
		r.w.ended, r.told, r.key = false, true, m.Key
	case KindStop:
		r.w.ended, r.told = true, true
	}
}
