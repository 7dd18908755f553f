package fetch

import "time"

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
