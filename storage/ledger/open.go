package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
)

// Open returns a Writer that continues the ledger in o.Dir, or begins it with the first line. It cuts off an unfinished last
// line. It continues from the latest checkpoint: it reads the lines after that again, and rebuilds tiles or hosts that differ
// from all lines (Repairs).
func Open(o Options) (*Writer, error) { return openOn(o, realSystem()) }

func openOn(o Options, sys system) (*Writer, error) {
	w, err := newWriter(o, sys)
	if err == nil {
		err = w.open()
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: open: %w", err)
	}
	return w, nil
}

func newWriter(o Options, sys system) (*Writer, error) {
	if o.SegmentSize < 0 || o.SegmentSize > maxSegment/2 {
		return nil, fmt.Errorf("segment size %d is not between 0 and %d", o.SegmentSize, maxSegment/2)
	}
	for _, d := range []string{o.Warcinfo, o.SettingsSHA256, o.OptOutsSHA256} {
		if d != "" && !IsDigest(d) {
			return nil, fmt.Errorf("the digest %.80q, which the run is to bind, is not a SHA-256", d)
		}
	}
	w := &Writer{dir: o.Dir, limit: o.SegmentSize, options: o, sys: sys, opened: time.Now(), hasher: tree.NewHasher(),
		tree: new(tree.Growing), ended: true}
	w.commits.next = make(chan struct{})
	if w.limit == 0 {
		w.limit = 64 << 20
	}
	return w, nil
}

func (w *Writer) open() error {
	if err := durable.MakeFolder(w.dir); err != nil {
		return err
	}
	if err := durable.MakeFolder(CheckpointFolderOf(w.dir)); err != nil {
		return err
	}
	numbers, err := segments(w.dir)
	if err != nil {
		return err
	}
	if len(numbers) > 0 {
		w.number = numbers[len(numbers)-1]
		last := path(w.dir, w.number)
		size, end, err := cutTail(last)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may be packed
			return err
		}
		if end < size {
			w.cutFile, w.cut = last, size-end
		}
		w.size = end // none of it is known to be durable
	}
	if err := w.recover(numbers); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range numbers {
		if _, err := os.Stat(path(w.dir, n)); err == nil && n != w.number {
			w.pack(n)
		}
	}
	return nil
}

func (w *Writer) next() {
	w.number, w.file, w.size, w.synced, w.here, w.begun = w.number+1, nil, 0, 0, 0, false
}

// recovery finds the state of a ledger: from its latest checkpoint if tiles and hosts match it, else from its first line.
type recovery struct {
	w       *Writer
	numbers []int            // of the segments
	note    *checkpoint.Note // the latest; nil for none

	committed int64 // entries of the checkpoint
	mapped    int64 // entries of its map
	hosts     *Mark // that states the map

	index  int64  // of the next line
	first  int64  // from where lines are read again
	tiles  bool   // rewrite the tiles
	remap  bool   // rewrite the hosts
	packed bool   // the last segment that was read is
	hasRun bool   // a run began or stopped in the lines read
	key    string // of the run that the lines end in

	bare   *Mark                 // of a map without its checkpoint
	missed checkpoint.Checkpoint // that it is to end in
	stubs  int64                 // lines of unknown hosts
}

const maxRead = 1 << 18 // entries gathered before map and tiles take them, when lines are read again

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

// lost reports that the lines are not the checkpoint's. Continuing would sign another log under the same name.
func (r *recovery) lost(format string, args ...any) error {
	return fmt.Errorf("the checkpoint of %d entries is not of these lines: %s; curtsy audit shows where. Put a copy back, or "+
		"move %s away, and the next run begins a new ledger", r.note.Size, fmt.Sprintf(format, args...), r.w.dir)
}

// start finds the first line to read again, and whether tiles and map match the checkpoint.
func (r *recovery) start() (err error) {
	w := r.w
	own := w.options.Signer.VerifierKey()
	if r.note == nil {
		r.tiles, r.remap, r.key = true, true, own
		return r.empty()
	}
	r.key = "another"
	if own == "" && len(r.note.Signatures) == 0 || r.note.SignedBy(w.options.Signer.Key()) {
		r.key = own
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
	if r.remap, err = r.hostsDiffer(); err != nil {
		return err
	}
	if r.first = r.mapped; r.tiles || r.remap {
		r.first = 0
	}
	if r.tiles {
		w.tree = new(tree.Growing)
	}
	return r.empty()
}

// empty clears the tiles and map to be rebuilt.
func (r *recovery) empty() (err error) {
	w := r.w
	if r.tiles {
		if w.commits.tiles, err = tree.NewTiles(w.dir); err != nil {
			return err
		}
	}
	if r.remap {
		for _, name := range []string{HostsName, HostsName + newSuffix} {
			if err := w.sys.remove(filepath.Join(w.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

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

func (r *recovery) read() error {
	at, err := r.segmentOf(r.first)
	if err != nil {
		return err
	}
	if first := r.numbers; at < 0 && len(first) > 0 && first[0] > 0 {
		return fmt.Errorf("segment 0 is missing: put it back, or move %s away, and the next run begins a new ledger", r.w.dir)
	}
	for _, number := range r.numbers[max(at, 0):] {
		started := false
		for t, err := range r.lines(number) {
			switch {
			case err != nil:
				return err
			case !started && t.Index != r.index && r.index > 0:
				return fmt.Errorf("segment %d begins with entry %d, and the one before ends in front of %d: curtsy audit "+
					"says more", number, t.Index, r.index)
			}
			r.index = t.Index
			if !started {
				started = true
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
	if r.index <= r.mapped && !r.remap {
		mapped = false // the map has it
	}
	if w.tail.base+int64(len(w.tail.hashes)) < r.index-1 {
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
	if r.index == r.mapped && r.remap || len(w.tail.hashes) >= maxRead || len(w.tail.names) >= maxChanged {
		return r.absorb()
	}
	return nil
}

func (r *recovery) mark(m *Mark) {
	switch m.Kind {
	case KindHosts:
		if r.index > r.committed && r.key == r.w.options.Signer.VerifierKey() {
			r.bare, r.missed.Size = m, r.index
		}
	case KindKey:
		r.key = m.Rotation.New.String()
	case KindRun:
		r.w.ended, r.hasRun, r.key = false, true, m.Key
	case KindStop:
		r.w.ended, r.hasRun = true, true
	}
}

func (r *recovery) absorb() error {
	w := r.w
	fresh := filepath.Join(w.dir, HostsName+newSuffix)
	var root hostmap.Hash
	err := w.sys.write(fresh, func(to io.Writer) (err error) {
		root, _, err = writeHosts(to, w.tail.merged(w.origin, len(w.tail.hashes), Hosts(w.dir)))
		return err
	})
	if err == nil {
		err = w.sys.rename(fresh, filepath.Join(w.dir, HostsName))
	}
	if n := w.commits.tiles.Size() - w.tail.base; err == nil && n < int64(len(w.tail.hashes)) {
		err = w.commits.tiles.Append(w.tail.hashes[max(n, 0):]...)
	}
	if err != nil {
		return err
	}
	if r.index == r.mapped && root != r.hosts.Root {
		why := "they are not those that the checkpoint states"
		if r.stubs > 0 {
			why = fmt.Sprintf("%d lines were forgotten, and count for no host any more", r.stubs)
		}
		w.repairs = append(w.repairs, fmt.Sprintf("the ledger's rebuilt map of hosts differs: %s", why))
	}
	w.tail.reset(r.index)
	return nil
}

func (r *recovery) finish() error {
	w := r.w
	if r.index < r.committed {
		return r.lost("there are %d", r.index)
	}
	if r.note != nil && !r.hasRun {
		w.ended = false // the run before continues
	}
	w.commits.size, w.foreign = r.committed, r.key != w.options.Signer.VerifierKey()
	if w.origin == "" {
		w.origin = checkpoint.Origin(w.options.Signer, checkpoint.NewID())
	}
	if len(w.tail.hashes) == 0 {
		w.tail.reset(r.index)
	}
	if r.note != nil && r.tiles {
		w.repairs = append(w.repairs, fmt.Sprintf("the ledger's tiles did not match its checkpoint: rebuilt from %d lines", r.index))
	}
	if r.note != nil && r.remap {
		w.repairs = append(w.repairs, fmt.Sprintf("the ledger's map of hosts did not match its checkpoint: rebuilt from %d lines", r.mapped))
	}
	return r.complete()
}

// complete makes the checkpoint of a map's mark if a kill came between the two, unless the run had another key. Only a
// run can record that one before it was killed; after an operator's command nothing would explain a missing checkpoint.
func (r *recovery) complete() error {
	w, m := r.w, r.bare
	if m == nil || m.Size < w.tail.base || m.Size >= r.missed.Size {
		return nil
	}
	made, err := w.mapOf(&w.tail, m.Size)
	if err != nil {
		return err
	}
	if made.Root != m.Root || made.Hosts != m.Hosts {
		return w.sys.remove(filepath.Join(w.dir, HostsName+newSuffix)) // the audit reports it
	}
	if w.begun { // else it is packed, and so durable
		if err := w.reopen(); err != nil {
			return err
		}
		if err := w.file.Sync(); err != nil {
			return w.poison("sync", err)
		}
		w.synced = w.size
	}
	r.missed.Origin = w.origin
	of := tail{base: w.tail.base, hashes: w.tail.hashes[:r.missed.Size-w.tail.base]}
	if err := w.keep(r.missed, &of, nil); err != nil {
		return err
	}
	w.tail.drop(int(m.Size - w.tail.base))
	return nil
}

// rotations finds those that lead from the key of the latest checkpoint to the signer's.
func (r *recovery) rotations() error {
	w := r.w
	if r.note == nil || r.note.SignedBy(w.options.Signer.Key()) {
		return nil
	}
	var due [][]byte
	var at checkpoint.Key
	for _, note := range w.options.Rotations {
		of, err := checkpoint.ParseRotation(note)
		if err != nil {
			return err
		}
		if due == nil && r.note.SignedBy(of.Old) || due != nil && of.Old == at {
			due, at = append(due, note), of.New
		}
	}
	if at == w.options.Signer.Key() {
		w.rotate = due
	}
	return nil
}

// hostsDiffer reports whether the map on disk is not the checkpoint's. A kill may have left that one beside it.
func (r *recovery) hostsDiffer() (bool, error) {
	current := filepath.Join(r.w.dir, HostsName)
	for _, path := range []string{current, current + newSuffix} {
		root, n, err := hostmap.Root(hostsIn(path))
		if err != nil || n != r.hosts.Hosts || root != r.hosts.Root {
			continue
		}
		if path == current {
			return false, nil
		}
		if _, err := os.Lstat(path); err == nil {
			return false, r.w.sys.rename(path, current)
		}
	}
	return true, nil
}
