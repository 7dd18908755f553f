package model

import (
	"time"

	"curtsy/frontier"
)

// accept enters the candidates that are new, in order.
func (s *state) accept(now time.Time, cs []frontier.Candidate) frontier.Added {
	var n frontier.Added
	for i, c := range cs {
		a, refused, over := c.URL.Authority(), c.Refused, ""
		if h := s.hosts[a]; refused == "" && h != nil && h.hold.act == frontier.Drop {
			refused = frontier.ReasonOperator
		}
		if c.Kind != frontier.KindSeed {
			over = s.over(c)
		}
		switch {
		case s.seen[c.URL.Key()]:
			n.Known++
		case refused != "":
			s.seen[c.URL.Key()] = true
			s.close(s.host(now, a), frontier.Dropped, refused)
			n.Refused++
			if c.Refused == "" {
				n.Barred = append(n.Barred, i)
			}
		case over != "":
			s.capped[over]++
			n.Capped++
		default:
			s.seen[c.URL.Key()] = true
			h := s.host(now, a)
			h.accepted++
			s.domains[a.RegistrableDomain()]++
			s.accepted++
			h.pending = append(h.pending, newTask(c, s.accepted))
			n.New++
		}
	}
	return n
}

// over returns the reason of the first cap that leaves no room for c, or nothing.
func (s *state) over(c frontier.Candidate) string {
	o, a := s.options, c.URL.Authority()
	var ofHost int64
	if h := s.hosts[a]; h != nil {
		ofHost = h.accepted
	}
	switch {
	case o.MaxSize > 0 && s.size()+octets > o.MaxSize:
		return frontier.ReasonCapSize
	case o.MaxURLs > 0 && s.accepted >= o.MaxURLs:
		return frontier.ReasonCapCrawl
	case o.MaxURLsPerDomain > 0 && s.domains[a.RegistrableDomain()] >= o.MaxURLsPerDomain:
		return frontier.ReasonCapDomain
	case o.MaxURLsPerAuthority > 0 && ofHost >= o.MaxURLsPerAuthority:
		return frontier.ReasonCapHost
	}
	return ""
}

// octets is what the model says that a URL takes, as a file with its text and endings would. Nothing else counts.
const octets = 1 << 10

// size returns the octets that are kept.
func (s *state) size() int64 { return octets * int64(len(s.seen)) }

// full reports whether Options.MaxSize is reached but for a reserve of an eighth.
func (s *state) full() bool {
	most := s.options.MaxSize
	return most > 0 && s.size() >= most-most/8
}
