package fetch

import (
	"net/netip"
	"sync"
	"time"

	"curtsy/frontier/canon"
)

// idleLines are the connections that wait for their host's next turn: at most one per authority, or as many as a
// request allows for (Request.Lines), maxIdle in all, each for a life. A connection is either in here or in the hands
// of one exchange.
type idleLines struct {
	life time.Duration // negative keeps none

	mu    sync.Mutex
	lines map[canon.Authority]*connection // the one put last; connection.next leads to the others
	count int                             // of all
	over  bool
}

// take returns an idle connection to a that can be used, or nil. One to another address than only, unless that is zero,
// is closed: the exchange goes elsewhere now.
func (s *idleLines) take(a canon.Authority, only netip.AddrPort) *connection {
	for {
		l := s.remove(a)
		if l == nil || !l.hasPendingInput() && (!only.IsValid() || l.addr == only) {
			return l
		}
		l.close()
	}
}

// remove takes the connection to a out that was put last.
func (s *idleLines) remove(a canon.Authority) *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[a]
	if l == nil {
		return nil
	}
	s.unlink(l)
	l.timer.Stop()
	return l
}

// unlink takes l out and reports whether it was in; called with mu held.
func (s *idleLines) unlink(l *connection) bool {
	first := s.lines[l.authority]
	if first == l {
		if l.next == nil {
			delete(s.lines, l.authority)
		} else {
			s.lines[l.authority] = l.next
		}
		l.next = nil
		s.count--
		return true
	}
	for ; first != nil; first = first.next {
		if first.next == l {
			first.next, l.next = l.next, nil
			s.count--
			return true
		}
	}
	return false
}

// put keeps l as one of at most width to its authority, or reports that there is no room for it.
func (s *idleLines) put(l *connection, width int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.life < 0 || s.count >= maxIdle {
		return false
	}
	there := 0
	for o := s.lines[l.authority]; o != nil; o = o.next {
		there++
	}
	if there >= max(width, 1) {
		return false
	}
	l.next = s.lines[l.authority]
	s.lines[l.authority] = l
	s.count++
	if l.timer == nil {
		l.timer = time.AfterFunc(s.life, func() { s.expire(l) })
	} else {
		l.timer.Reset(s.life)
	}
	return true
}

// expire closes l unless it has been taken. A timer that fired while l was taken and put back only ends its life early.
func (s *idleLines) expire(l *connection) {
	s.mu.Lock()
	waits := s.unlink(l)
	s.mu.Unlock()
	if waits {
		l.close()
	}
}

// shut returns all lines and lets in no more.
func (s *idleLines) shut() []*connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	var all []*connection
	for a, l := range s.lines {
		delete(s.lines, a)
		for ; l != nil; l = l.next {
			l.timer.Stop()
			all = append(all, l)
		}
	}
	s.count = 0
	return all
}
