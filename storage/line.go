package storage

import (
	"context"
	"time"
)

// Line is one decision on one URL: an outcome, a deferral, or a refusal that never became a task.
type Line struct {
	Time     time.Time // when it was decided
	URL      string
	Seed     string // the seed it descends from
	Tag      string // that seed's tag
	Decision string // "allow", "deny", "scope", "robots", …: which part of the story decided; see docs
	Reason   string // in that part's words

	// The robots verdict, when one was asked for.
	RobotsLine   int    // line of robots.txt, from 1; 0 when no line decided
	RobotsRule   string // that line's rule, as written
	RobotsSHA256 string // hex digest of the file; empty without one
	Standard     string // "rfc9309", …

	Pace   time.Duration // the pace that applied
	PaceBy string        // who asked for it: "floor", "crawl-delay", "response time", …
	Gap    time.Duration // from the end of the previous exchange with the authority to the start of this one; 0 when none is known

	Attempt int    // 1 for the first exchange; 0 without an exchange
	Outcome string // a frontier outcome's name, or "deferred"
	Status  int    // HTTP status; 0 without one
	Record  string // id of the archived record; empty without one

	List string // hex digest of the opt-out list that decided; RobotsLine and RobotsRule then are its line and entry

	// What the answer asks of robots, as far as it is addressed to us: what we understood of it ("noindex, nofollow"), and
	// everything as it was written, a statement on a line ("X-Robots-Tag: noindex", "meta robots: nofollow").
	Directives string
	Asked      string

	// Prefs are the usage preferences that hold for the answer, as they were written, one on a line: where it was said
	// ("robots" or "header"), the name, and the value, as in "robots content-signal: search=yes". Nothing is made of them.
	Prefs string
}

// Ledger keeps lines. Its methods may be called concurrently.
type Ledger interface {
	// Append adds l. It does not sync.
	Append(ctx context.Context, l Line) error
	// Sync makes durable what was appended before the call.
	Sync(ctx context.Context) error
}
