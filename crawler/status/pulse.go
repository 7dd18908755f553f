package status

import "time"

// Sample is how far a crawl was at one instant.
type Sample struct {
	At                      time.Time
	Pages, Bytes, Exchanges int64
	Permitted               float64 // exchanges a second
	Archive                 int64   // octets
}

// Samples are the last ones, in their order.
type Samples struct {
	every time.Duration
	most  int
	all   []Sample
}

// Keep returns Samples that keep so many, one in every so long.
func Keep(most int, every time.Duration) Samples { return Samples{every: every, most: most} }

// Add takes in a sample, unless the last one is too young.
func (s *Samples) Add(x Sample) {
	if n := len(s.all); n > 0 && x.At.Sub(s.all[n-1].At) < s.every {
		return
	}
	if len(s.all) == s.most {
		s.all = append(s.all[:0], s.all[1:]...)
	}
	s.all = append(s.all, x)
}

// Rates are what happened in a second, over a time.
type Rates struct {
	Pages, Bytes, Exchanges, Permitted float64
	Archive                            float64 // octets a second
}

// Over returns the rates of the last time of that length, as far as it was seen.
func (s *Samples) Over(d time.Duration) (r Rates) {
	n := len(s.all)
	if n < 2 {
		return r
	}
	last, i := s.all[n-1], n-2
	for i > 0 && last.At.Sub(s.all[i].At) < d {
		i--
	}
	return between(s.all[i:n])
}

func between(part []Sample) (r Rates) {
	first, last := part[0], part[len(part)-1]
	t := last.At.Sub(first.At).Seconds()
	if t <= 0 {
		return r
	}
	per := func(a, b int64) float64 { return max(float64(b-a)/t, 0) } // a new generation counts from zero
	r = Rates{
		Pages: per(first.Pages, last.Pages), Bytes: per(first.Bytes, last.Bytes), Exchanges: per(first.Exchanges, last.Exchanges),
		Archive: per(first.Archive, last.Archive),
	}
	for _, x := range part[1:] {
		r.Permitted += x.Permitted / float64(len(part)-1)
	}
	return r
}

// Course returns the rates of n equal parts of the time that was seen, the oldest first; fewer where less was seen.
func (s *Samples) Course(n int) (parts []Rates) {
	step := max((len(s.all)-1+n-1)/n, 1)
	for i := 0; i+step < len(s.all); i += step {
		parts = append(parts, between(s.all[i:i+step+1]))
	}
	return parts
}

// Span is the time that was seen.
func (s *Samples) Span() time.Duration {
	if len(s.all) < 2 {
		return 0
	}
	return s.all[len(s.all)-1].At.Sub(s.all[0].At)
}
