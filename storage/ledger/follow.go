package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"curtsy/storage"
)

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
