package accesslog

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
)

// overlaps finds what stands in several files of a log, as when a log was copied before it went on, or a file is
// there twice. Files overlap where the last lines of one are the first lines of another, one by one and whoever's
// they are, or where all lines of one stand in a row in another. Equal lines elsewhere are requests of their own:
// servers that share the work write them, and so may one server within a second.
//
// Of each line a hash goes to a temporary file, so memory is bounded. Rows of lines are compared by what they hash to
// (R. M. Karp and M. O. Rabin, Efficient randomized pattern-matching algorithms, 1987).
type overlaps struct {
	dir   string
	f     *os.File
	w     *bufio.Writer
	n     int64 // hashes written
	tapes []*tape
}

// tape is a file, as the hashes of its lines. Those that cannot be read do not count at either end, where a copy may
// be torn.
type tape struct {
	of          int   // log
	at          int64 // of the first line, among all hashes
	lines       int64
	skip        int64 // lines before the first that counts
	open        int64 // lines behind the last that counts
	first, last int64 // between these times lie its lines
	within      bool  // all of it stands in another file

	sure, maybe int64 // copies: the first lines so far. If all of them are equal, they may also be requests of their own
}

func (t *tape) count() int64 { return t.lines - t.skip - t.open }

// begin takes the next file.
func (o *overlaps) begin(log int) { o.tapes = append(o.tapes, &tape{of: log, at: o.n}) }

// read takes a line of the file that can be read.
func (o *overlaps) read(l *numbered) error {
	t, at := o.tapes[len(o.tapes)-1], l.time.UnixMicro()
	if t.open == t.lines { // the first
		t.skip, t.first, t.last = l.number-1, at, at
	}
	t.first, t.last = min(t.first, at), max(t.last, at)
	if err := o.put(t, l.number, l.sum); err != nil {
		return err
	}
	t.open = 0
	return nil
}

// unread takes one that cannot.
func (o *overlaps) unread(u *unread) error {
	t := o.tapes[len(o.tapes)-1]
	t.open += u.line - t.lines
	return o.put(t, u.line, u.sum)
}

// put writes a hash, and none for the empty lines before it.
func (o *overlaps) put(t *tape, number int64, sum uint64) error {
	if o.f == nil {
		f, err := os.CreateTemp(o.dir, "curtsy-lines-*")
		if err != nil {
			return err
		}
		o.f, o.w = f, bufio.NewWriterSize(f, 64<<10)
	}
	for ; t.lines < number; t.lines++ {
		var b [8]byte
		if t.lines == number-1 {
			binary.BigEndian.PutUint64(b[:], sum%prime)
		}
		if _, err := o.w.Write(b[:]); err != nil {
			return err
		}
		o.n++
	}
	return nil
}

// close removes what was written.
func (o *overlaps) close() error {
	if o.f == nil {
		return nil
	}
	return errors.Join(o.f.Close(), os.Remove(o.f.Name()))
}

// copied reports whether a line of a file is the copy of one in another file, and whether that is sure.
func (o *overlaps) copied(file int, number int64) (copied, sure bool) {
	t := o.tapes[file]
	return number <= max(t.sure, t.maybe), number <= t.sure
}

// find compares all files with each other. It returns those that surely overlap, by their numbers.
func (o *overlaps) find(ctx context.Context) (joined [][2]int, err error) {
	if o.f == nil {
		return nil, nil
	}
	if err := o.w.Flush(); err != nil {
		return nil, err
	}
	for _, compare := range []func(a, b *tape, later bool) (bool, error){o.inside, o.behind} {
		for i, a := range o.tapes {
			for k, b := range o.tapes {
				if i == k || a.of != b.of || a.within || b.within || a.last < b.first || b.last < a.first ||
					a.count()*b.count() == 0 {
					continue
				}
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				sure, err := compare(a, b, k > i)
				if err != nil {
					return nil, fmt.Errorf("read the access logs: %w", err)
				}
				if sure {
					joined = append(joined, [2]int{i, k})
				}
			}
		}
	}
	return joined, nil
}

// inside marks b as a copy of lines of a. Of two that are the same, the later is the copy.
func (o *overlaps) inside(a, b *tape, later bool) (bool, error) {
	n := b.count()
	if n > a.count() || n == a.count() && !later {
		return false, nil
	}
	x, old, y := o.reader(a), o.reader(a), o.reader(b)
	var want, row row
	for k := range n {
		want.push(y.at(k))
		row.push(x.at(k))
	}
	found := want.sum == row.sum
	for k := n; k < a.count() && !found; k++ {
		row.push(x.at(k))
		row.drop(old.at(k-n), want.power)
		found = want.sum == row.sum
	}
	if found {
		b.within = true
		b.mark(n, want.varied)
	}
	return found && want.varied, errors.Join(x.err, old.err, y.err)
}

// behind marks the first lines of b as copies of the last lines of a.
func (o *overlaps) behind(a, b *tape, _ bool) (bool, error) {
	ab, varied, err := o.overlap(a, b)
	if err != nil || ab == 0 {
		return false, err
	}
	ba, _, err := o.overlap(b, a)
	if err != nil || ba > ab || ba == ab && b.first < a.first {
		return false, err
	}
	b.mark(ab, varied)
	return varied, nil
}

// overlap returns how many lines at the end of a are those at the beginning of b, and whether they differ from each
// other.
func (o *overlaps) overlap(a, b *tape) (lines int64, varied bool, err error) {
	x, y := o.reader(a), o.reader(b)
	var head, tail row
	for k := range min(a.count(), b.count()) {
		tail.unshift(x.at(a.count() - 1 - k))
		head.push(y.at(k))
		if head.sum == tail.sum {
			lines, varied = k+1, head.varied
		}
	}
	return lines, varied, errors.Join(x.err, y.err)
}

// mark makes copies of the first lines that count.
func (t *tape) mark(lines int64, varied bool) {
	if varied {
		t.sure = max(t.sure, t.skip+lines)
	} else {
		t.maybe = max(t.maybe, t.skip+lines)
	}
}

// prime is 2^61-1, and base a number below it. The hashes are seeded, so nobody can write lines that hash to the same.
const (
	prime = 1<<61 - 1
	base  = 0x1f3d5b79a2c4e68d % prime
)

// row is what lines in a row hash to: the sum of each one's hash times the power of base of how many follow it.
type row struct {
	sum, power uint64 // power is base to the number of lines, or 0 for none
	first      uint64
	varied     bool
}

func (r *row) begin(line uint64) {
	if r.power == 0 {
		r.power, r.first = 1, line
	}
	r.varied = r.varied || line != r.first
}

// push puts a line behind, unshift before the others.
func (r *row) push(line uint64) {
	r.begin(line)
	r.sum, r.power = (times(r.sum, base)+line)%prime, times(r.power, base)
}

func (r *row) unshift(line uint64) {
	r.begin(line)
	r.sum, r.power = (r.sum+times(line, r.power))%prime, times(r.power, base)
}

// drop takes the first line away, behind which stand so many lines as power says.
func (r *row) drop(line, power uint64) { r.sum = (r.sum + prime - times(line, power)) % prime }

func times(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return (lo&prime + (lo>>61 | hi<<3)) % prime
}

// reader reads the lines of a tape that count, one near the other in either direction.
type reader struct {
	from  io.ReaderAt
	tape  *tape
	first int64 // that is in block
	block []byte
	err   error
}

const blockLines = 4096

func (o *overlaps) reader(t *tape) *reader { return &reader{from: o.f, tape: t, first: -1} }

func (r *reader) at(i int64) uint64 {
	i += r.tape.at + r.tape.skip
	if first := i - i%blockLines; first != r.first {
		r.first = first
		r.block = r.block[:cap(r.block)]
		if r.block == nil {
			r.block = make([]byte, 8*blockLines)
		}
		n, err := r.from.ReadAt(r.block, 8*first)
		if err != nil && err != io.EOF && r.err == nil {
			r.err = err
		}
		r.block = r.block[:n]
	}
	if k := 8 * (i - r.first); k+8 <= int64(len(r.block)) {
		return binary.BigEndian.Uint64(r.block[k:])
	}
	r.err = errors.Join(r.err, io.ErrUnexpectedEOF)
	return 0
}
