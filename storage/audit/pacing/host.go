package pacing

import (
	"time"

	"curtsy/storage/audit/pauses"
)

// Host is what is known of the pauses of an authority while its exchanges go by. The zero Host is ready to use.
type Host struct {
	// The last exchange, and until when the server asked for rest.
	met         bool
	began       time.Time // the latest start
	end         time.Time // the latest end, or the latest that is known of it
	ended       bool      // end is known
	res         time.Duration
	ahead       time.Duration // how far the clock had jumped ahead, as the crawl says of the last exchange
	hasMetadata bool          // which has metadata
	file        string        // of the exchange that ended last
	lost        bool          // a step of the clock made it unknown when its last exchange ended
	rest        time.Time
	restWhy     string
	restFor     int       // exchanges since, at most evidence.AtKill
	restAt      time.Time // when that was said: what began before could not know

	answers     answers
	spaced      time.Duration // what RateLimit spaces requests by
	spacedUntil time.Time
	emptied     time.Duration // how long RateLimit said last that nothing is left
	spacedFor   int           // exchanges since it was said, at most evidence.AtKill
	was         terms         // that were due before the last exchange
	row         pauses.Row    // its exchanges, one after the other
	lastSeen    sighting
	latest      sighting // the exchange that began last
	starts      starts   // of answered exchanges of another crawler

	// The crawl may have heard this, and need not: it stands in an answer that the crawl could not read, or that a
	// kill may have made it forget.
	mayRest  time.Time
	mayLimit [2]time.Duration

	backoff    time.Time // until when an error without such a word asks for rest
	backoffWhy string

	daily     []time.Time // requests of the last day, where the archive declares how many there may be
	dailyLost int         // those of them that kills may have made the crawl forget

	Reduced bool // an answer of it is left out: what it asked for is not known

	// An exchange was taken down since a RateLimit was archived, or a robots.txt: it may have had another.
	unheard, unread bool

	Required     time.Duration // the longest pause that floor or robots.txt asked for
	RequiredBy   string
	Lowest       time.Duration // the shortest
	Gaps         pauses.Sample
	StartToStart bool // some of the gaps are measured from start to start
}

// Site is what a host's robots.txt asks for between two requests.
type Site struct {
	Delay, Rate time.Duration // Crawl-delay and Request-rate

	Unasked   bool // the archive has no exchange for it
	Forgotten bool // a kill may have made the crawl forget it
	Hearsay   bool // it was read for another host since: what that asks for is kept, too

	Taken Taken
}

// Met reports whether it is known when the last exchange with the host ended.
func (h *Host) Met() bool { return h.met }

// Crosses reports whether an exchange in a file is the first of the host behind another file.
func (h *Host) Crosses(file string) bool { return h.met && h.file != file }

// SetBack notes that the clock was set back: the pause before the next exchange is not known, nor whether a rest is
// over.
func (h *Host) SetBack() {
	h.lost = h.lost || h.met
	h.met, h.began, h.end, h.ended, h.res = false, time.Time{}, time.Time{}, false, 0
	h.rest, h.restAt, h.backoff, h.spaced, h.emptied = time.Time{}, time.Time{}, time.Time{}, 0, 0
	h.was, h.row = terms{}, pauses.Row{}
	h.daily, h.dailyLost = nil, 0
}
