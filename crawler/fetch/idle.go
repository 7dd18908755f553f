package fetch

import (
	"sync"
	"time"

	"curtsy/frontier/canon"
)

// idleLines are the connections that wait for their host's next turn: at most one per authority, maxIdle in all, each
// for a life. A line is either in here or in the hands of one exchange.
type idleLines struct {
	life time.Duration // negative keeps none

	mu    sync.Mutex
	lines map[canon.Authority]*line
	over  bool
}

// take returns the idle line to a that can be used, or nil.
func (s *idleLines) take(a canon.Authority) *line {
	l := s.remove(a)
	if l != nil && l.stirred() {
		l.close()
		return nil
	}
	return l
}

// remove takes the line to a out.
func (s *idleLines) remove(a canon.Authority) *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[a]
	if l == nil {
		return nil
	}
	delete(s.lines, a)
	l.timer.Stop()
	return l
}

// put keeps l, or reports that there is no room for it.
func (s *idleLines) put(l *line) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.life < 0 || len(s.lines) >= maxIdle || s.lines[l.authority] != nil {
		return false
	}
	s.lines[l.authority] = l
	if l.timer == nil {
		l.timer = time.AfterFunc(s.life, func() { s.expire(l) })
	} else {
		l.timer.Reset(s.life)
	}
	return true
}

// expire closes l unless it has been taken. A timer that fired while l was taken and put back only ends its life early.
func (s *idleLines) expire(l *line) {
	s.mu.Lock()
	waits := s.lines[l.authority] == l
	if waits {
		delete(s.lines, l.authority)
	}
	s.mu.Unlock()
	if waits {
		l.close()
	}
}

// shut returns all lines and lets in no more.
func (s *idleLines) shut() []*line {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	var all []*line
	for a, l := range s.lines {
		delete(s.lines, a)
		l.timer.Stop()
		all = append(all, l)
	}
	return all
}
