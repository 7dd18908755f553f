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

// Read returns the decisions of the ledger in dir, in their order, in memory that does not depend on their number;
// without those that were forgotten. It checks nothing: Scan does, and turns down a line whose salt was taken away as
// well. A line that cannot be read is an error that names its place, and the lines behind it follow; an error of the
// file system is the last. A line that is still being written, at the end of the last segment, is passed over.
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

// Text is a line as it stands, without its newline, and the index of its entry. It is valid until the next.
type Text struct {
	Index int64
	Line  []byte

	at row
}

// Texts are all lines of the ledger in dir, marks and stubs among them. Nothing is parsed but the marks that segments begin
// with, and nothing is checked: it is for those who hold the lines against a checkpoint themselves. An unfinished last
// line is not there. An error is the last.
func Texts(dir string) iter.Seq2[Text, error] { return pick(dir, nil, indexed()) }

// texts are the whole lines of segments of dir. An error is the last.
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

// indexed returns a function that takes the whole lines of segments one after another, and returns each with its index.
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

// pick returns the values that take makes of the whole lines of the ledger in dir, in those of its segments that which
// chooses; nil chooses all. Take returns false for a line that it passes over. An error is the last.
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

// firstOf reads from the mark that a segment begins with the index of that entry.
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

// Places are the decisions of the ledger in dir with their indexes, without those that were forgotten. An error is the
// last: where a line cannot be read, nobody knows what it says. It checks nothing else.
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

// Marks are the marks of the ledger in dir, in their order. A line that is meant as a mark and is none is passed over,
// for Scan to say; an error is the last.
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

// Fault is what can be wrong with a ledger. Faults are stable.
type Fault string

// The faults.
const (
	Changed     Fault = "entry changed"         // a line is not the one that was committed to
	RootDiffers Fault = "checkpoint differs"    // a checkpoint is of other lines
	Rollback    Fault = "rollback"              // a checkpoint is of more lines than there are
	WrongOrigin Fault = "wrong origin"          // a checkpoint or a segment is of another log
	BadNote     Fault = "checkpoint unreadable" // a file of a checkpoint is none
	BadSig      Fault = "signature wrong"       // a checkpoint is not signed by the key of its run
	KeyChanged  Fault = "key changed"           // a run has another key than the one before, without a rotation
	MapDiffers  Fault = "map differs"           // a completeness map is not that of the lines
	BadTiles    Fault = "tiles differ"          // the tiles are not those of the latest checkpoint, or a file beside them is none of the lines' tree
	Uncommitted Fault = "not committed"         // no checkpoint has the lines at the end
	NoStop      Fault = "no stop"               // a run did not end in good order: a crash, or lines were cut off
	Unnamed     Fault = "redaction not told"    // a line was taken away, and no mark says so
	Disagree    Fault = "marks disagree"        // a mark says of the lines what is not so
	Unreadable  Fault = "unreadable"            // a line is no decision and no mark, or a file does not decompress
	Torn        Fault = "unfinished line"       // the last line of a segment has no end
	Copies      Fault = "copies differ"         // a segment is there plain and packed, and the two are not the same
	NoLines     Fault = "segment without lines" // a segment is empty: a kill leaves it as the last one
	Missing     Fault = "segment missing"       // the numbers of the segments have a gap
	Empty       Fault = "empty"                 // there is no segment
	NewSchema   Fault = "schema not known"      // written by a later version
)

// Problem is a fault and its place.
type Problem struct {
	Fault   Fault
	Segment int
	Row     int    // line of the segment, from 1; 0 for all of it
	Index   int64  // of the entry, or of the one behind the place; -1 where it is not known
	Text    string // what it is, in words; it may quote the ledger
}

// String is the problem with its place.
func (p Problem) String() string {
	switch {
	case p.Row == 0:
		return fmt.Sprintf("%s: segment %d: %s", p.Fault, p.Segment, p.Text)
	case p.Index < 0:
		return fmt.Sprintf("%s: segment %d line %d: %s", p.Fault, p.Segment, p.Row, p.Text)
	}
	return fmt.Sprintf("%s: segment %d line %d (entry %d): %s", p.Fault, p.Segment, p.Row, p.Index, p.Text)
}

// Stub is the line that takes the place of one that was forgotten, from its entry hash: the entry stays what it was.
func Stub(h tlog.Hash) []byte {
	return append(hex.AppendEncode([]byte(`{"redacted":"`), h[:]), `"}`...)
}

// ParseStub reads a stub. A line that is meant as one and is none is an error.
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

// HashOf is the entry hash of a line, which a stub states.
func HashOf(hasher *tree.Hasher, line []byte) tlog.Hash {
	if h, is, _ := ParseStub(line); is {
		return h
	}
	return hasher.Entry(line)
}

// IsStub reports whether a line is meant as the stub of one that was forgotten.
func IsStub(line []byte) bool { return bytes.HasPrefix(line, stubStart) }

// isWhole reports whether a line is meant as a decision, and not as the stub of one.
func isWhole(line []byte) bool { return !IsMark(line) && !IsStub(line) }

// hostOf is the host in the completeness map of a line whose URL that is. Octets that are no UTF-8 are written as U+FFFD,
// and so read by others.
func hostOf(url string) string {
	if !utf8.ValidString(url) {
		url = string([]rune(url))
	}
	return hostmap.Host(url)
}

// placeOf says under which host a line stands in the completeness map, if it does: marks do not, and of a stub it is not
// known. A line that cannot be read is of the empty host.
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

// The fields of a line that Asked reads. In a text of the web their quotes would be escaped.
var (
	timeField   = []byte(`"time":"`)
	recordField = []byte(`,"record":"`)
	statusField = []byte(`,"status":`)
	mediaField  = []byte(`,"type":"`)
	octetsField = []byte(`,"octets":`)
	robotsWord  = []byte(`,"decision":"robots"`)
)

// Asked sums up the exchanges of the ledger in dir that have lines of since or later, all those whose lines name a record. It parses no line as JSON and
// so reads a gigabyte in seconds; what is no whole line is passed over, for Scan to say.
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

// Requests calls f with the lines of the exchanges in the ledger in dir that were made at since or later. It passes
// over what is no whole line, for Scan to say.
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

// exchanges are the lines that name a record and are not of a time before since. An error is the last.
func exchanges(dir string, since time.Time) iter.Seq2[[]byte, error] {
	return linesWith(dir, recordField, nil, func(line []byte) ([]byte, bool) {
		at := timeOf(line)
		return line, since.IsZero() || at.IsZero() || !at.Before(since)
	})
}

// timeOf is the time that a line states first; zero for none.
func timeOf(line []byte) time.Time {
	_, rest, _ := bytes.Cut(line, timeField)
	text, _, _ := bytes.Cut(rest, []byte{'"'})
	t, _ := time.Parse(time.RFC3339Nano, string(text))
	return t
}

// numberOf is the number that a line has in a field; 0 for none.
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

// lastSegments is how many segments Last looks into: one may have begun just before a kill.
const lastSegments = 2

// restField is in each line that says a rest. In a text of the web its quotes would be escaped.
var restField = []byte(`,"rest_ms":`)

// status2xxField is in each line of an answer of status 2xx.
var status2xxField = []byte(`,"status":2`)

// Last returns those of the last decisions of the ledger in dir that say a rest of the host (storage.Line.Rest) or are of a
// page (storage.Line.IsPage), in their order: all of the last two segments, which are bounded. A line that cannot be read is
// passed over, for Scan to say; an error of the file system is the last.
func Last(dir string) iter.Seq2[storage.Line, error] {
	last := func(all []int) []int { return all[max(len(all)-lastSegments, 0):] }
	return linesWith(dir, timeField, last, func(b []byte) (l storage.Line, ok bool) {
		if !bytes.Contains(b, restField) && !bytes.Contains(b, status2xxField) {
			return l, false
		}
		l, err := storage.ParseLine(b)
		return l, err == nil && (l.Rest > 0 || l.IsPage())
	})
}

// fileField is in each mark of a file. A decision does not begin so.
var fileField = []byte(`{"mark":"file"`)

// Told returns which files of those names the ledger in dir has marks of. It looks from the last segment back, until it
// has met all.
func Told(dir string, names ...string) (map[string]bool, error) {
	told := map[string]bool{}
	backward := func(all []int) []int { slices.Reverse(all); return all }
	for m, err := range linesWith(dir, fileField, backward, func(b []byte) (*Mark, bool) {
		m, err := ParseMark(b)
		return m, err == nil && slices.Contains(names, m.Name)
	}) {
		if err != nil {
			return told, err
		}
		if told[m.Name] = true; len(told) == len(names) {
			break
		}
	}
	return told, nil
}

// linesWith returns the values that take makes of the lines that have a field, in those segments of the ledger in dir that
// which chooses, or in all. Lines that are not whole or too long are passed over, for Scan to report, and so are those for
// which take returns false. An error is the last.
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

// ErrNoCheckpoint says that a ledger has none yet: it is empty, or was killed before its first.
var ErrNoCheckpoint = errors.New("the ledger has no checkpoint yet")

// Latest is the latest checkpoint of the ledger in dir, with the signatures that stand under it, none of which is
// checked. It may be called while the crawl runs.
func Latest(dir string) (*checkpoint.Note, error) {
	n, err := latest(dir)
	if err != nil {
		return nil, fmt.Errorf("ledger: checkpoint: %w", err)
	}
	return n, nil
}

// latest is the larger one of the latest checkpoint and the last of all, in case that one of them is damaged.
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

// CheckpointPath is the file of the checkpoint of a size.
func CheckpointPath(dir string, size int64) string {
	return filepath.Join(dir, CheckpointFolder, fmt.Sprintf("%012d", size))
}

// Checkpoints are the sizes of the checkpoints of the ledger in dir, ascending. Other files are left alone.
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

// CheckpointFolderOf is the folder of the checkpoints of the ledger in dir.
func CheckpointFolderOf(dir string) string { return filepath.Join(dir, CheckpointFolder) }

// ErrNotContained says that a ledger does not have the entries that a checkpoint of it stands for.
var ErrNotContained = errors.New("the ledger does not contain a checkpoint that was signed for it")

// Origin returns the origin of the ledger in dir, as its latest checkpoint has it, or else its first line; empty where
// there is neither.
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

// Contains returns ErrNotContained, with what is wrong, if the first c.Size entries of the ledger in dir do not lead to
// the root of c. Where the tiles lead from the latest checkpoint to that root, the lines are not read: whoever goes on
// with the ledger goes on with those tiles. It changes nothing.
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

// Differ says in which way the lines of the ledger in dir do not lead to the root of c, whatever its tiles are; "" if they
// do. A ledger that is missing has no lines.
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

// Hashes reads the tree of a checkpoint of the ledger in dir from its tiles. Where they are missing or torn, it makes them
// again from the lines, in a folder below temp: the crawl may run. It checks each hash against the root of the checkpoint.
// The error tree.ErrTiles says that the lines do not lead there.
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

// maxFollowed is the longest line that a Follower holds; it passes over longer ones. Ours are far shorter, and the ledger of
// a directory that was received may be anything.
const maxFollowed = 256 << 10

// Follower reads the newest decisions of a ledger, and goes on as the ledger grows, from files alone: whoever writes the
// ledger knows nothing of its followers, and none of them can hold it up. It holds no file open between two calls. Its
// methods are for one goroutine.
type Follower struct {
	dir    string
	back   int64
	begun  bool
	number int   // of the segment that is being read
	offset int64 // of the first line in it that was not read
	only   []byte
	acts   []Mark // of operators
}

// mostActs is how many acts of operators a Follower keeps.
const mostActs = 100

// Acts returns the marks of operators that were read so far, the last ones.
func (f *Follower) Acts() []Mark { return slices.Clone(f.acts) }

var actStart = append(slices.Clone(markStart), KindOperator+`"`...)

// act keeps a mark of an operator. One that cannot be read is passed over, like a line.
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

// Follow returns a follower of the ledger in dir, which begins about back octets before the end.
func Follow(dir string, back int64) *Follower { return &Follower{dir: dir, back: back} }

// Only has f return the decisions alone on URLs that begin with an origin. The others are not counted as passed over. A line
// that has the origin elsewhere, in the quotes of a rule, say, may be among those that come.
func (f *Follower) Only(origin string) { f.only = []byte(`,"url":"` + origin) }

// Next returns the decisions since the call before. It returns the last most of them, and counts the others as
// passed over: nobody who watches a fast crawl reads each line, and to parse one costs more than to skip it. A line that
// cannot be read is passed over, for Scan to say.
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
		// Whether there is a next segment is asked before the end of this one is read: nothing is appended to a segment
		// once the next has begun.
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

// begin finds the place about back octets before the end.
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

// rest reads the segment to its end, or to the line that is being written, and gives the decisions to keep. One that is too
// long to be read is nil.
func (f *Follower) rest(keep func(line []byte)) (failed error) {
	rowsOf(f.dir, f.number, f.offset, func(r row, err error) bool {
		switch {
		case errors.Is(err, errTorn): // it is not there yet
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
