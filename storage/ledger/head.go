package ledger

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"
)

// Point is a place in a ledger and what stands for all before it.
type Point struct {
	Segment int
	Row     int   // line of the segment, from 1
	Lines   int64 // decisions up to it, in all chained segments
	Chain   Hash
	Runs    bool // no head that ends a run stands there: the crawl runs, or was killed

	// The head that stands there. Without one Time is zero; without a signature Key is nil.
	Time time.Time
	Key  ed25519.PublicKey
}

// ErrNoChain says that there is nothing to name: the ledger is empty, or its last segment is of schema 1.
var ErrNoChain = errors.New("the ledger has no chain yet")

// Head returns the last whole line of the ledger in dir, which is a head when the last run is over: its hash, lodged
// elsewhere, proves later that nothing before it was changed. It reads the last segment only, and an error says what
// is wrong there; the rest is for Scan.
func Head(dir string) (Point, error) {
	p, err := head(dir)
	if err != nil {
		return Point{}, fmt.Errorf("ledger: head: %w", err)
	}
	return p, nil
}

func head(dir string) (p Point, err error) {
	numbers, err := segments(dir)
	if err != nil {
		return p, err
	}
	if len(numbers) == 0 {
		return p, ErrNoChain
	}
	c, _, err := tail(dir, numbers)
	switch {
	case err != nil:
		return p, err
	case c.bad != nil:
		return p, errors.New(c.bad.String())
	case c.row == 0 || c.plain:
		return p, ErrNoChain
	}
	p = Point{Segment: c.segment, Row: c.row, Lines: c.lines, Chain: c.run.h, Runs: c.now != WhyEnd}
	if c.now != "" {
		p.Time, p.Key = c.last.Time, c.last.Key
	}
	return p, nil
}
