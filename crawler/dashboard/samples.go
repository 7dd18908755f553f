package dashboard

import "time"

// sample is how far a crawl was at one instant.
type sample struct {
	at                      time.Time
	pages, bytes, exchanges int64
	permitted               float64 // exchanges a second
	archive                 int64   // octets
}

// samples are the last ones, in their order.
type samples struct {
	every time.Duration
	most  int
	all   []sample
}

// add takes in a sample, unless the last one is too young.
func (s *samples) add(x sample) {
	if n := len(s.all); n > 0 && x.at.Sub(s.all[n-1].at) < s.every {
		return
	}
	if len(s.all) == s.most {
		s.all = append(s.all[:0], s.all[1:]...)
	}
	s.all = append(s.all, x)
}

// rates are what happened in a second, over a time.
type rates struct {
	Pages, Bytes, Exchanges, Permitted float64
	Archive                            float64 // octets a second
}

// over returns the rates of the last time of that length, as far as it was seen.
func (s *samples) over(d time.Duration) (r rates) {
	n := len(s.all)
	if n < 2 {
		return r
	}
	last, i := s.all[n-1], n-2
	for i > 0 && last.at.Sub(s.all[i].at) < d {
		i--
	}
	return between(s.all[i:n])
}

func between(part []sample) (r rates) {
	first, last := part[0], part[len(part)-1]
	t := last.at.Sub(first.at).Seconds()
	if t <= 0 {
		return r
	}
	per := func(a, b int64) float64 { return max(float64(b-a)/t, 0) } // a new generation counts from zero
	r = rates{
		Pages: per(first.pages, last.pages), Bytes: per(first.bytes, last.bytes), Exchanges: per(first.exchanges, last.exchanges),
		Archive: per(first.archive, last.archive),
	}
	for _, x := range part[1:] {
		r.Permitted += x.permitted / float64(len(part)-1)
	}
	return r
}

// course returns the rates of n equal parts of the time that was seen, the oldest first; fewer where less was seen.
func (s *samples) course(n int) (parts []rates) {
	step := max((len(s.all)-1+n-1)/n, 1)
	for i := 0; i+step < len(s.all); i += step {
		parts = append(parts, between(s.all[i:i+step+1]))
	}
	return parts
}

// span is the time that was seen.
func (s *samples) span() time.Duration {
	if len(s.all) < 2 {
		return 0
	}
	return s.all[len(s.all)-1].at.Sub(s.all[0].at)
}
