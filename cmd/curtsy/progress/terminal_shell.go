package progress

import (
	"os"
	"os/signal"
)

// shell is who else writes to a terminal: with Ctrl-Z a shell stops this process and takes the terminal, and gives it back
// with fg, or not with bg. Nil is none.
type shell struct {
	goesOn chan os.Signal // nil while nobody listens
	listen func(c chan<- os.Signal)
	ours   func() bool // whether the terminal is this process's now
}

// watch listens for being stopped and woken, until leave.
func (s *shell) watch() {
	if s != nil && s.goesOn == nil {
		s.goesOn = make(chan os.Signal, 1)
		s.listen(s.goesOn)
	}
}

func (s *shell) leave() {
	if s != nil && s.goesOn != nil {
		signal.Stop(s.goesOn)
		s.goesOn = nil
	}
}

// woken reports whether the process was stopped since the last call.
func (s *shell) woken() bool {
	if s == nil {
		return false
	}
	select {
	case <-s.goesOn:
		return true
	default:
		return false
	}
}

// foreground reports whether the terminal is this process's.
func (s *shell) foreground() bool { return s == nil || s.ours() }
