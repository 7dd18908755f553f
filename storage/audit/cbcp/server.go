package cbcp

import (
	"fmt"
	"time"

	"curtsy/storage/audit/evidence"
)

// server is how an authority fared, and how the crawl took that.
type server struct {
	end     time.Time     // of the last exchange
	pauses  time.Duration // the sum of those behind answers that were no failure
	n       int64         // of these
	streak  int           // failures in a row
	pressed bool          // the crawl went on as before: said once of a streak
}

const (
	streakMin = 3               // failures in a row that ask for a reaction
	longPause = time.Minute     // one that is so long is a reaction, or needs none
	unhurried = 5 * time.Second // the usual pause of a server that never answered without failure
)

// failed reports whether a status says that the server fails, or is asked too much (RFC 9110 15.6, RFC 6585 4).
func failed(status int) bool { return status == 429 || status >= 500 && status <= 599 }

// server follows an authority through an exchange.
func (f *facts) server(e *evidence.Exchange) {
	if e.Authority == "" || e.Began.IsZero() {
		return
	}
	s := f.servers[e.Authority]
	if s == nil {
		s = &server{}
		f.servers[e.Authority] = s
	}
	if pause := e.Began.Add(e.Resolution).Sub(s.end); !s.end.IsZero() && pause >= 0 {
		s.paused(f, e, pause)
	}
	s.end = e.End()
	if !e.Answered || !failed(e.Status) {
		s.streak, s.pressed = 0, false
		return
	}
	f.failures++
	s.streak++
}

// paused takes the pause before an exchange.
func (s *server) paused(f *facts, e *evidence.Exchange, pause time.Duration) {
	if s.streak == 0 {
		s.pauses, s.n = s.pauses+pause, s.n+1
		return
	}
	usual := unhurried
	if s.n > 0 {
		usual = s.pauses / time.Duration(s.n)
	}
	if s.streak < streakMin || e.Own || s.pressed || pause >= longPause || pause > usual+usual/5 {
		return
	}
	s.pressed = true
	add(&f.pressed, at(e, fmt.Sprintf("%v after %d answers of 429 or 5xx in a row, where %v was usual",
		pause.Round(time.Millisecond), s.streak, usual.Round(time.Millisecond))))
}
