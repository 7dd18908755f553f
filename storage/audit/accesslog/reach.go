package accesslog

import (
	"slices"
	"time"
)

// reach is what one file of a log surely holds. A file is taken for lines that a server wrote one after the other,
// between two instants that are not in it. What ended before the first or began after the second is not missing.
//
// Two things bound these instants. The seconds of the lines, whoever's they are: a line was written at its second or
// later, so what ended before the second of the last, by the server's clock, was written before the file ends. When
// the first was written is less certain, for Apache stamps the beginning: the latest second of the first few is
// taken, of which not all will be slow. And the lines of the crawler, by its own clock: what began after another
// exchange ended was logged after it.
type reach struct {
	first, last []int64 // seconds of the first and the last few lines, in Unix microseconds
	latest      int64   // second so far
	disorder    int64   // by how much a line's second lies before one that was written earlier, at most

	agree bool  // an exchange stands in it
	ended int64 // the earliest end of those that do, by the crawler's clock
	began int64 // the latest begin

	from, to int64 // what began after from and ended before to is surely in it
}

const (
	fewLines = 16
	second   = int64(time.Second / time.Microsecond)

	// nearby is by how much server and crawler may see an end at different instants, and lines of a second be out of
	// order. Servers that write through buffers put lines further out of order; up to mostDisorder of that is allowed
	// for.
	nearby       = 2 * second
	mostDisorder = 60 * second
)

// line takes the second of the file's next line.
func (r *reach) line(at int64) {
	if len(r.first) < fewLines {
		r.first = append(r.first, at)
	}
	if len(r.last) == fewLines {
		r.last = append(r.last[:0], r.last[1:]...)
	}
	r.last = append(r.last, at)
	if len(r.first) == 1 {
		r.latest = at
	}
	r.disorder = max(r.disorder, r.latest-at)
	r.latest = max(r.latest, at)
}

// agrees takes an exchange that stands in the file, or several of which one does.
func (r *reach) agrees(began, ended int64) {
	if !r.agree || ended < r.ended {
		r.ended = ended
	}
	if !r.agree || began > r.began {
		r.began = began
	}
	r.agree = true
}

// close computes what the file surely holds. skew is by how much the clocks may differ.
func (r *reach) close(skew int64) {
	if len(r.first) == 0 {
		return
	}
	margin := nearby + min(r.disorder, mostDisorder)
	r.from, r.to = slices.Max(r.first)+second+skew+margin, slices.Min(r.last)-skew-margin
	if r.agree {
		r.from, r.to = min(r.from, r.ended+margin), max(r.to, r.began-margin)
	}
}

// join makes one of two files that overlap.
func (r *reach) join(o *reach) {
	from, to := min(r.from, o.from), max(r.to, o.to)
	r.from, r.to, o.from, o.to = from, to, from, to
}

func (r *reach) holds(began, ended int64) bool {
	return len(r.first) > 0 && began > r.from && ended < r.to
}

// held reports whether an exchange would surely stand in one of the files. Files that reach over the same time are
// those of servers that share the work: it may stand in any, so all must reach over it.
func held(files []*reach, began, ended int64) bool {
	for _, f := range files {
		if !f.holds(began, ended) {
			continue
		}
		beside := func(g *reach) bool { return max(f.from, g.from) < min(f.to, g.to) && !g.holds(began, ended) }
		if !slices.ContainsFunc(files, beside) {
			return true
		}
	}
	return false
}
