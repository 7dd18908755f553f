package ledger

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
)

// Read yields the decisions of the ledger in dir in order, without redacted ones, in memory independent of their number. It
// checks nothing: Scan does, and also rejects a line without its salt. An unreadable line is an error with its place, and
// lines follow; an error of the file system is the last. It skips an unfinished line at the end of the last segment.
func Read(dir string) iter.Seq2[storage.Line, error] {
	return func(yield func(storage.Line, error) bool) {
		numbers, err := segments(dir)
		if err != nil {
			yield(storage.Line{}, fmt.Errorf("ledger: read: %w", err))
			return
		}
		for r, err := range rows(dir, numbers) {
			if errors.Is(err, errTorn) && r.segment == numbers[len(numbers)-1] || err == nil && !isWhole(r.text) {
				continue
			}
			var l storage.Line
			if err == nil {
				if l, err = storage.ParseLine(r.text); err != nil {
					l, err = storage.Line{}, r.failed(err)
				}
			}
			if err != nil {
				err = fmt.Errorf("ledger: read %w", err)
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// Text is a line without its newline, and the index of its entry. It is valid until the next.
type Text struct {
	Index int64
	Line  []byte

	at row
}

// Texts yields all lines of the ledger in dir, also marks and stubs, except an unfinished last one. It parses only the marks
// at the begin of segments and checks nothing: the caller compares the lines with a checkpoint. An error is the last.
func Texts(dir string) iter.Seq2[Text, error] { return pick(dir, nil, indexed()) }

func texts(dir string, numbers []int) iter.Seq2[Text, error] {
	return func(yield func(Text, error) bool) {
		take := indexed()
		for r, err := range rows(dir, numbers) {
			if errors.Is(err, errTorn) {
				continue
			}
			t, _, err := take(r, err)
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// indexed returns a function that takes the whole lines of segments in order, and returns each with its index.
func indexed() func(r row, err error) (Text, bool, error) {
	next := int64(0)
	return func(r row, err error) (Text, bool, error) {
		if err == nil && r.n == 1 {
			if next, err = firstOf(r.text); err != nil {
				err = r.failed(err)
			}
		}
		next++
		return Text{next - 1, r.text, r}, true, err
	}
}

// pick yields the values that take makes of the whole lines of the ledger in dir, in the segments that which chooses; nil
// chooses all. It skips a line for which take returns false. An error is the last.
func pick[T any](dir string, which func(numbers []int) []int, take func(r row, err error) (T, bool, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		fail := func(v T, err error) { yield(v, fmt.Errorf("ledger: read: %w", err)) }
		numbers, err := segments(dir)
		if err != nil {
			fail(*new(T), err)
			return
		}
		if which != nil {
			numbers = which(numbers)
		}
		for r, err := range rows(dir, numbers) {
			if errors.Is(err, errTorn) {
				continue
			}
			v, ok, err := take(r, err)
			if err != nil {
				fail(v, err)
				return
			}
			if ok && !yield(v, nil) {
				return
			}
		}
	}
}

// firstOf returns the entry index in the mark that a segment begins with.
func firstOf(line []byte) (int64, error) {
	m, err := ParseMark(line)
	if err == nil && m.Kind != KindBegin {
		err = errors.New("it is not the mark that a segment begins with")
	}
	if err != nil {
		return 0, err
	}
	return m.First, nil
}

// Placed is a decision and the index of its entry.
type Placed struct {
	Index int64
	Line  storage.Line
}

// Places yields the decisions of the ledger in dir with their indexes, without redacted ones. An error, also of a line, is the last.
func Places(dir string) iter.Seq2[Placed, error] {
	text := indexed()
	return pick(dir, nil, func(r row, err error) (p Placed, ok bool, _ error) {
		t, _, err := text(r, err)
		if p.Index = t.Index; err != nil || !isWhole(t.Line) {
			return p, false, err
		}
		if p.Line, err = storage.ParseLine(t.Line); err != nil {
			err = r.failed(err)
		}
		return p, true, err
	})
}

// Marks yields the marks of the ledger in dir in order. It skips invalid ones, which Scan reports. An error is the last.
func Marks(dir string) iter.Seq2[*Mark, error] {
	text := indexed()
	return pick(dir, nil, func(r row, err error) (m *Mark, ok bool, _ error) {
		if _, _, err = text(r, err); err != nil || !IsMark(r.text) {
			return nil, false, err
		}
		m, bad := ParseMark(r.text)
		return m, bad == nil, nil
	})
}

// Fault is a kind of fault of a ledger. Faults are stable.
type Fault string

const (
	Changed     Fault = "entry changed"         // a line is not the one that was committed to
	RootDiffers Fault = "checkpoint differs"    // a checkpoint is of other lines
	Rollback    Fault = "rollback"              // a checkpoint is of more lines than there are
	WrongOrigin Fault = "wrong origin"          // a checkpoint or a segment is of another log
	BadNote     Fault = "checkpoint unreadable" // a file of a checkpoint is invalid
	BadSig      Fault = "signature wrong"       // a checkpoint is not signed by the key of its run
	KeyChanged  Fault = "key changed"           // a run has another key than the one before, without a rotation
	MapDiffers  Fault = "map differs"           // a completeness map is not that of the lines
	BadTiles    Fault = "tiles differ"          // the tiles are not those of the latest checkpoint, or a file beside them is not of the lines' tree
	Uncommitted Fault = "not committed"         // no checkpoint has the lines at the end
	NoStop      Fault = "no stop"               // a run did not end cleanly: a crash, or lines were cut off
	Unnamed     Fault = "redaction not told"    // a line was removed, and no mark names it
	Disagree    Fault = "marks disagree"        // a mark contradicts the lines
	Unreadable  Fault = "unreadable"            // a line is neither decision nor mark, or a file does not decompress
	Torn        Fault = "unfinished line"       // the last line of a segment has no end
	Copies      Fault = "copies differ"         // a segment exists plain and packed, and the two differ
	NoLines     Fault = "segment without lines" // a segment is empty: a kill leaves it as the last one
	Missing     Fault = "segment missing"       // the numbers of the segments have a gap
	Empty       Fault = "empty"                 // there are no segments
	NewSchema   Fault = "schema not known"      // written by a later version
)

// Problem is a fault and its place.
type Problem struct {
	Fault   Fault
	Segment int
	Row     int    // line of the segment, from 1; 0 for all of it
	Index   int64  // of the entry, or of the one after the place; -1 if unknown
	Text    string // its description; it may quote the ledger
}

func (p Problem) String() string {
	switch {
	case p.Row == 0:
		return fmt.Sprintf("%s: segment %d: %s", p.Fault, p.Segment, p.Text)
	case p.Index < 0:
		return fmt.Sprintf("%s: segment %d line %d: %s", p.Fault, p.Segment, p.Row, p.Text)
	}
	return fmt.Sprintf("%s: segment %d line %d (entry %d): %s", p.Fault, p.Segment, p.Row, p.Index, p.Text)
}

// Stub returns the line that replaces a redacted one of the entry hash h.
func Stub(h tlog.Hash) []byte {
	return append(hex.AppendEncode([]byte(`{"redacted":"`), h[:]), `"}`...)
}

// ParseStub reads a stub. A line that begins like one but is invalid is an error.
func ParseStub(line []byte) (h tlog.Hash, is bool, err error) {
	if !IsStub(line) {
		return h, false, nil
	}
	digits := bytes.TrimSuffix(bytes.TrimPrefix(line, stubStart), []byte{'}'})
	if len(digits) == 2+2*len(h) {
		if _, err := hex.Decode(h[:], digits[1:len(digits)-1]); err == nil && bytes.Equal(Stub(h), line) {
			return h, true, nil
		}
	}
	return h, false, fmt.Errorf("%.100q is not a stub of a line", line)
}

// HashOf returns the entry hash of a line; a stub states it.
func HashOf(hasher *tree.Hasher, line []byte) tlog.Hash {
	if h, is, _ := ParseStub(line); is {
		return h
	}
	return hasher.Entry(line)
}

// IsStub reports whether a line begins like a stub.
func IsStub(line []byte) bool { return bytes.HasPrefix(line, stubStart) }

func isWhole(line []byte) bool { return !IsMark(line) && !IsStub(line) }

// hostOf returns the host of a URL in the completeness map. Invalid UTF-8 is written, and so read, as U+FFFD.
func hostOf(url string) string {
	if !utf8.ValidString(url) {
		url = string([]rune(url))
	}
	return hostmap.Host(url)
}

// placeOf returns the host of a line in the completeness map: marks and stubs have none, an unreadable line the empty one.
func placeOf(line []byte) (host string, mapped bool) {
	if !isWhole(line) {
		return "", false
	}
	l, err := storage.ParseLine(line)
	if err != nil {
		return "", true
	}
	return hostOf(l.URL), true
}

// Fields of lines. In a text of the web their quotes would be escaped.
var (
	timeField   = []byte(`"time":"`)
	recordField = []byte(`,"record":"`)
	statusField = []byte(`,"status":`)
	mediaField  = []byte(`,"type":"`)
	octetsField = []byte(`,"octets":`)
	robotsWord  = []byte(`,"decision":"robots"`)
	restField   = []byte(`,"rest_ms":`)
	okField     = []byte(`,"status":2`)    // of a response of status 2xx
	fileField   = []byte(`{"mark":"file"`) // no decision begins so
)

// Asked counts the exchanges of the ledger in dir since a time, by lines that name a record. It parses no line as JSON and so
// reads a gigabyte in seconds; it skips invalid lines, which Scan reports.
func Asked(dir string, since time.Time) (a storage.Asked, err error) {
	a.Kinds = map[string]int64{}
	for line, err := range exchanges(dir, since) {
		if err != nil {
			return a, err
		}
		a.Exchanges++
		a.Octets += numberOf(line, octetsField)
		if status := numberOf(line, statusField); status > 0 {
			a.Answers++
			_, rest, _ := bytes.Cut(line, mediaField)
			mediaType, _, _ := bytes.Cut(rest, []byte{'"'})
			for _, kind := range storage.KindsOfAnswer(int(status), string(mediaType)) {
				a.Kinds[kind]++
			}
		}
		if bytes.Contains(line, robotsWord) {
			a.Robots++
		}
	}
	return a, nil
}

// Requests calls f with the lines of exchanges in the ledger in dir since a time. It skips invalid lines, which Scan reports.
func Requests(dir string, since time.Time, f func(storage.Line)) error {
	for line, err := range exchanges(dir, since) {
		if err != nil {
			return err
		}
		if l, err := storage.ParseLine(line); err == nil && l.Record != "" {
			f(l)
		}
	}
	return nil
}

// exchanges yields the lines that name a record and are not dated before since. An error is the last.
func exchanges(dir string, since time.Time) iter.Seq2[[]byte, error] {
	return linesWith(dir, recordField, nil, func(line []byte) ([]byte, bool) {
		at := timeOf(line)
		return line, since.IsZero() || at.IsZero() || !at.Before(since)
	})
}

// timeOf returns the first time in a line; zero without one.
func timeOf(line []byte) time.Time {
	_, rest, _ := bytes.Cut(line, timeField)
	text, _, _ := bytes.Cut(rest, []byte{'"'})
	t, _ := time.Parse(time.RFC3339Nano, string(text))
	return t
}

func numberOf(line, field []byte) (n int64) {
	_, digits, _ := bytes.Cut(line, field)
	for _, d := range digits {
		if d < '0' || d > '9' {
			break
		}
		n = n*10 + int64(d-'0')
	}
	return n
}

const lastSegments = 2 // that Last reads: one may have begun just before a kill

// Last yields those of the last decisions of the ledger in dir with a rest of the host (storage.Line.Rest) or of a page
// (storage.Line.IsPage), in order: all of the last two segments. It skips invalid lines, which Scan reports. An error of the
// file system is the last.
func Last(dir string) iter.Seq2[storage.Line, error] {
	last := func(all []int) []int { return all[max(len(all)-lastSegments, 0):] }
	return linesWith(dir, timeField, last, func(b []byte) (l storage.Line, ok bool) {
		if !bytes.Contains(b, restField) && !bytes.Contains(b, okField) {
			return l, false
		}
		l, err := storage.ParseLine(b)
		return l, err == nil && (l.Rest > 0 || l.IsPage())
	})
}

// Told returns the named files with marks in the ledger in dir. It reads back from the last segment until it has all.
func Told(dir string, names ...string) (map[string]bool, error) {
	marked := map[string]bool{}
	backward := func(all []int) []int { slices.Reverse(all); return all }
	for m, err := range linesWith(dir, fileField, backward, func(b []byte) (*Mark, bool) {
		m, err := ParseMark(b)
		return m, err == nil && slices.Contains(names, m.Name)
	}) {
		if err != nil {
			return marked, err
		}
		if marked[m.Name] = true; len(marked) == len(names) {
			break
		}
	}
	return marked, nil
}

// linesWith yields the values that take makes of the lines with a field, in the segments of the ledger in dir that
// which selects. It skips lines that are unfinished, too long, or for which take returns false. An error is the last.
func linesWith[T any](dir string, field []byte, which func(numbers []int) []int, take func(line []byte) (T, bool)) iter.Seq2[T, error] {
	return pick(dir, which, func(r row, err error) (v T, ok bool, _ error) {
		switch {
		case errors.Is(err, errLong):
			return v, false, nil
		case err != nil || !bytes.Contains(r.text, field):
			return v, false, err
		}
		v, ok = take(r.text)
		return v, ok, nil
	})
}

// The places of checkpoints in the folder of a ledger.
const (
	CheckpointName   = "checkpoint"  // the latest
	CheckpointFolder = "checkpoints" // every one, by its size
)

// ErrNoCheckpoint reports a ledger without a checkpoint: it is empty, or was killed before its first.
var ErrNoCheckpoint = errors.New("the ledger has no checkpoint yet")

// Latest returns the latest checkpoint of the ledger in dir with its signatures, unchecked. The crawl may run meanwhile.
func Latest(dir string) (*checkpoint.Note, error) {
	n, err := latest(dir)
	if err != nil {
		return nil, fmt.Errorf("ledger: checkpoint: %w", err)
	}
	return n, nil
}

// latest is the larger one of the latest checkpoint and the last stored one, in case one of them is damaged.
func latest(dir string) (*checkpoint.Note, error) {
	n, err := ReadNote(filepath.Join(dir, CheckpointName))
	sizes, serr := Checkpoints(dir)
	if serr != nil {
		return nil, serr
	}
	for _, size := range slices.Backward(sizes) {
		if n != nil && n.Size >= size {
			break
		}
		if last, err := ReadNote(CheckpointPath(dir, size)); err == nil && last.Size == size {
			return last, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoCheckpoint
	}
	return n, err
}

// CheckpointPath returns the path of the checkpoint of a size.
func CheckpointPath(dir string, size int64) string {
	return filepath.Join(dir, CheckpointFolder, fmt.Sprintf("%012d", size))
}

// Checkpoints returns the sizes of the checkpoints of the ledger in dir, ascending. It ignores other files.
func Checkpoints(dir string) (sizes []int64, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, CheckpointFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		size, err := strconv.ParseInt(e.Name(), 10, 64)
		if err == nil && size >= 0 && filepath.Base(CheckpointPath(dir, size)) == e.Name() {
			sizes = append(sizes, size)
		}
	}
	slices.Sort(sizes)
	return sizes, nil
}

// ReadNote reads the checkpoint in a file: at most checkpoint.MaxNote bytes, signed or not.
func ReadNote(path string) (*checkpoint.Note, error) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, checkpoint.MaxNote+1))
	if err != nil {
		return nil, err
	}
	n, err := checkpoint.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

func CheckpointFolderOf(dir string) string { return filepath.Join(dir, CheckpointFolder) }

// ErrNotContained reports a ledger without the entries of a checkpoint that was signed for it.
var ErrNotContained = errors.New("the ledger does not contain a checkpoint that was signed for it")

// Origin returns the origin in the latest checkpoint of the ledger in dir, or else in its first line; "" without either.
func Origin(dir string) (string, error) {
	if n, err := latest(dir); err == nil {
		return n.Origin, nil
	}
	numbers, err := segments(dir)
	if isMissing(err) || err == nil && len(numbers) == 0 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("ledger: origin: %w", err)
	}
	for t, err := range texts(dir, numbers[:1]) {
		var m *Mark
		if err == nil {
			m, err = ParseMark(t.Line)
		}
		if err != nil {
			return "", fmt.Errorf("ledger: origin: %w", err)
		}
		return m.Origin, nil
	}
	return "", nil
}

// Contains returns ErrNotContained with the reason if the first c.Size entries of the ledger in dir do not have the root of c.
// If the tiles of the latest checkpoint lead to that root, it reads no line: a Writer continues with those tiles.
func Contains(dir string, c checkpoint.Checkpoint) error {
	if n, err := latest(dir); err == nil && n.Size >= c.Size {
		root, err := tlog.TreeHash(c.Size, tree.Reader(dir, n.Size, n.Root))
		if err == nil && root == c.Root {
			return nil
		}
	}
	wrong, err := Differ(context.Background(), dir, c)
	if wrong != "" {
		return fmt.Errorf("%w: %s", ErrNotContained, wrong)
	}
	return err
}

// Differ returns how the lines of the ledger in dir, without its tiles, differ from the root of c; "" if they do not. A
// missing ledger has no lines.
func Differ(ctx context.Context, dir string, c checkpoint.Checkpoint) (wrong string, err error) {
	numbers, err := segments(dir)
	if isMissing(err) {
		err = nil
	}
	var lines tree.Growing
	hasher := tree.NewHasher()
	for t, terr := range texts(dir, numbers) {
		if lines.Size() == c.Size {
			break
		}
		if err = errors.Join(err, terr, ctx.Err()); err != nil {
			break
		}
		lines.Append(HashOf(hasher, t.Line))
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("ledger: compare with a checkpoint: %w", err)
	case lines.Size() < c.Size:
		return fmt.Sprintf("it has %d entries, and the checkpoint is of %d", lines.Size(), c.Size), nil
	case lines.Root() != c.Root:
		return "lines were changed", nil
	}
	return "", nil
}

// Hashes reads the tree of a checkpoint of the ledger in dir from its tiles, and checks each hash against the root. If tiles
// are missing or damaged, it rebuilds them from the lines in a folder below temp; tree.ErrTiles if these have another root.
func Hashes(dir, temp string, n *checkpoint.Note) tlog.HashReader {
	in, again := tree.Reader(dir, n.Size, n.Root), false
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		hashes, err := in.ReadHashes(indexes)
		if again || !errors.Is(err, tree.ErrTiles) {
			return hashes, err
		}
		fresh, err := os.MkdirTemp(temp, "tiles-")
		if err != nil {
			return nil, err
		}
		hasher := tree.NewHasher()
		if _, err := tree.Rebuild(fresh, func(yield func(tlog.Hash, error) bool) {
			for t, err := range Texts(dir) {
				if err == nil && t.Index >= n.Size || !yield(HashOf(hasher, t.Line), err) {
					return
				}
			}
		}); err != nil {
			return nil, err
		}
		in, again = tree.Reader(fresh, n.Size, n.Root), true
		return in.ReadHashes(indexes)
	})
}

// maxFollowed is the longest line that a Follower returns. Real ones are far shorter, but a received directory may have any.
const maxFollowed = 256 << 10

// Follower reads the newest decisions of a ledger as it grows, from files only, so it cannot delay the Writer. It holds no
// file open between calls. Its methods are for one goroutine.
type Follower struct {
	dir    string
	back   int64
	begun  bool
	number int   // of the segment that is being read
	offset int64 // of the first line in it that was not read
	only   []byte
	acts   []Mark // of operators
}

const mostActs = 100 // of operators that a Follower keeps

// Acts returns the last marks of operators read so far.
func (f *Follower) Acts() []Mark { return slices.Clone(f.acts) }

var actStart = append(slices.Clone(markStart), KindOperator+`"`...)

func (f *Follower) act(b []byte) {
	m, err := ParseMark(b)
	if err != nil {
		return
	}
	if len(f.acts) == mostActs {
		f.acts = slices.Delete(f.acts, 0, 1)
	}
	f.acts = append(f.acts, *m)
}

// Follow returns a follower of the ledger in dir that begins about back bytes before the end.
func Follow(dir string, back int64) *Follower { return &Follower{dir: dir, back: back} }

// Only restricts f to decisions on URLs that begin with an origin, without counting others as passed. A line that has the
// origin elsewhere, such as in the quotes of a rule, may be among them.
func (f *Follower) Only(origin string) { f.only = []byte(`,"url":"` + origin) }

// Next returns the decisions since the last call: the last most of them, and the number of those passed over, since parsing
// costs more than skipping. It passes over invalid lines, which Scan reports.
func (f *Follower) Next(most int) (lines []storage.Line, passed int64, err error) {
	if !f.begun {
		if err := f.begin(); err != nil || !f.begun {
			return nil, 0, err
		}
	}
	most = max(most, 0)
	var kept [][]byte // the last lines, twice as many as are returned at most
	pass := func(n int) { kept, passed = slices.Delete(kept, 0, n), passed+int64(n) }
	for {
		// Look for the next segment before the end of this one is read: nothing is appended once the next has begun.
		numbers, err := segments(f.dir)
		if err != nil {
			return nil, 0, fmt.Errorf("ledger: follow: %w", err)
		}
		if err := f.rest(func(b []byte) {
			if len(b) > maxFollowed {
				passed++
			} else if kept = append(kept, bytes.Clone(b)); len(kept) >= 2*most {
				pass(len(kept) - most)
			}
		}); err != nil {
			return nil, 0, err
		}
		if len(numbers) == 0 || numbers[len(numbers)-1] <= f.number {
			break
		}
		f.number, f.offset = f.number+1, 0
	}
	pass(max(len(kept)-most, 0))
	for _, b := range kept {
		l, err := storage.ParseLine(b)
		if err != nil {
			passed++
			continue
		}
		lines = append(lines, l)
	}
	return lines, passed, nil
}

func (f *Follower) begin() error {
	numbers, err := segments(f.dir)
	if err != nil {
		return fmt.Errorf("ledger: follow: %w", err)
	}
	if len(numbers) == 0 {
		return nil // it begins
	}
	f.begun, f.number, f.offset = true, numbers[len(numbers)-1], 0
	fi, err := os.Stat(path(f.dir, f.number))
	switch {
	case err == nil && fi.Size() > f.back:
		f.offset = fi.Size() - f.back
		rowsOf(f.dir, f.number, f.offset, func(r row, bad error) bool { // the rest of a line
			if f.offset += r.size; r.path == "" {
				err = fmt.Errorf("ledger: follow: %w", bad)
			}
			return false
		})
		return err
	case err == nil && len(numbers) > 1:
		f.number = numbers[len(numbers)-2] // it may be packed: it is read whole, once
	}
	return nil
}

// rest reads the segment to its last whole line, and gives the decisions to keep; nil for one that is too long.
func (f *Follower) rest(keep func(line []byte)) (failed error) {
	rowsOf(f.dir, f.number, f.offset, func(r row, err error) bool {
		switch {
		case errors.Is(err, errTorn): // it is not complete yet
			return false
		case errors.Is(err, errLong):
			keep(nil)
		case err != nil:
			if failed = fmt.Errorf("ledger: follow: %w", err); r.path != "" {
				failed = fmt.Errorf("ledger: follow %s: %w", r.path, errors.Unwrap(err))
			}
			return false
		case bytes.HasPrefix(r.text, actStart):
			f.act(r.text)
		case isWhole(r.text) && bytes.Contains(r.text, f.only):
			keep(r.text)
		}
		f.offset += r.size
		return true
	})
	return failed
}
