package fetch

import (
	"time"

	"golang.org/x/time/rate"
)

// budget bounds the octets per second that all connections together bring (politeness rule 15). Octets are paid for
// after they were read: whoever has read may not read on before its share of the past is due, and meanwhile TCP slows
// the other side down. A nil budget is endless.
type budget struct{ limiter *rate.Limiter }

// maxBurst bounds what may be read at once, and so how uneven the rate is within a second.
const maxBurst = 64 << 10

// newBudget returns the budget of so many octets per second; nil for zero.
func newBudget(perSecond int64) *budget {
	if perSecond == 0 {
		return nil
	}
	return &budget{rate.NewLimiter(rate.Limit(perSecond), int(min(perSecond, maxBurst)))}
}

// most returns how many of n octets may be read in one go.
func (b *budget) most(n int) int {
	if b == nil {
		return n
	}
	return min(n, b.limiter.Burst())
}

// spend waits until n octets, at most what most allows, are paid for, or until over is closed. It returns how long that
// took.
func (b *budget) spend(n int, over <-chan struct{}) time.Duration {
	if b == nil {
		return 0
	}
	begin := time.Now()
	due := b.limiter.ReserveN(begin, n).DelayFrom(begin)
	if due <= 0 {
		return 0
	}
	wait := time.NewTimer(due)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-over: // what was read was read: it stays paid for
	}
	return time.Since(begin)
}

// leastSpeed holds an answer to a least speed: in each span of time from its first octet on, so many octets must come.
// The zero value asks for nothing.
type leastSpeed struct {
	octets int64         // that must come in a span; zero or less for any
	over   time.Duration // how long a span is

	start time.Time // of the span that is going on; zero before the first octet
	had   int64     // octets that came in it
}

// begin begins the first span.
func (s *leastSpeed) begin(now time.Time) { s.start, s.had = now, 0 }

// came notes octets, and a wait of our own, which is nobody's slowness.
func (s *leastSpeed) came(n int, ours time.Duration, now time.Time) {
	s.had += int64(n)
	s.start = s.start.Add(ours)
	if s.had >= s.octets && now.Sub(s.start) >= s.over {
		s.begin(now)
	}
}

// due is when the span ends, unless enough came in it already.
func (s *leastSpeed) due() (time.Time, bool) {
	return s.start.Add(s.over), s.octets > 0 && !s.start.IsZero() && s.had < s.octets
}

// missed reports whether the span has ended without enough.
func (s *leastSpeed) missed(now time.Time) bool {
	due, ok := s.due()
	return ok && !now.Before(due)
}
