package robots

import (
	"slices"
	"strings"
	"time"
)

// State is what is kept of an authority's robots policy between its turns. It is a value: Next makes a new one, it
// can be compared with ==, and AppendBinary and UnmarshalBinary carry it through storage. The zero State is that of
// an authority of which nothing is known.
//
// Times are kept to the microsecond.
type State struct {
	kind kind

	// The answer that made kind what it is.
	fetched int64 // when it came or was last confirmed; microseconds since 1970, 0 for never; so all times here
	expires int64
	final   string // the URL that gave it
	flags   Flags

	// The last robots.txt that was had. It outlives an outage, so that it can be confirmed by a 304, but not an answer
	// that there is none.
	hasBody  bool
	digest   [32]byte
	etag     string
	modified string

	// The last fetch, and the run of failures that it may belong to.
	tried        int64
	status       int
	failure      string
	failures     int
	firstFailure int64
	retry        int64

	chain chain
}

// kind says what decides about the URLs of an authority. The numbers are stable on disk.
type kind uint8

const (
	unfetched   kind = 0
	ruled       kind = 1 // the body does
	unavailable kind = 2 // there is none: all is allowed (RFC 9309 2.3.1.3)
	unreachable kind = 3 // it cannot be had: nothing is allowed (2.3.1.4)
	restricted  kind = 4 // it is forbidden, and so is all else (1996 3.1)
	kinds            = 5
)

// chain is a run of redirects that is being followed, a hop per turn. The zero chain is none.
type chain struct {
	hops  int                 // redirects followed
	next  string              // the URL that is due
	since int64               // when the last redirect came
	seen  [maxHops + 1]uint64 // digests of the URLs asked so far, seen[hops] that of next
	down  bool                // from https to http at some hop
}

// Flags tell people what was odd about a robots.txt. They change no verdict. The numbers are stable on disk.
type Flags uint8

// The flags.
const (
	HTML       Flags = 1 << iota // it was served as HTML, or looks like it
	Truncated                    // it is longer than MaxBody
	BOM                          // it begins with a byte order mark
	Binary                       // it looks like no text at all
	Downgraded                   // a redirect led from https to http
	flagsEnd
)

// String returns the names of the flags, separated by blanks.
func (f Flags) String() string {
	var names []string
	for i, name := range [...]string{"html", "truncated", "bom", "binary", "downgraded"} {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// Body returns the SHA-256 of the body that decides, which must be kept for as long as the State is; ok is false
// when none does.
func (s State) Body() (digest [32]byte, ok bool) {
	if s.kind != ruled {
		return [32]byte{}, false
	}
	return s.digest, true
}

// Verdict returns the verdict on every URL of the authority when no body decides: Unavailable, Unreachable or
// Restricted. ok is false when a body does, or nothing is known.
func (s State) Verdict() (v Verdict, ok bool) {
	switch s.kind {
	case unavailable:
		return Verdict{Allowed: true, Reason: Unavailable}, true
	case unreachable:
		return Verdict{Reason: Unreachable}, true
	case restricted:
		return Verdict{Reason: Restricted}, true
	}
	return Verdict{}, false
}

// Fetched returns when the answer that decides came or was last confirmed, or was given up for lost
// (Terms.After30Days); zero when there was none.
func (s State) Fetched() time.Time { return instant(s.fetched) }

// Expires returns when that answer may no longer be used.
func (s State) Expires() time.Time { return instant(s.expires) }

// Flags returns what was odd about the body that decides.
func (s State) Flags() Flags { return s.flags }

// FinalURL returns the URL that gave the answer, at the end of all redirects; empty when there was none.
func (s State) FinalURL() string { return s.final }

// Hops returns how many redirects have been followed in the fetch that is under way; 0 when none is.
func (s State) Hops() int { return s.chain.hops }

// Passed reports whether the redirects that are being followed have led to a URL, be that the one that is due.
func (s State) Passed(url string) bool { return slices.Contains(s.chain.asked(), hash(url)) }

// Status returns the HTTP status that the last exchange brought; 0 for none.
func (s State) Status() int { return s.status }

// Failure returns why the last fetch failed; empty when it did not.
func (s State) Failure() string { return s.failure }

// Failures returns how many fetches have failed in a row.
func (s State) Failures() int { return s.failures }

// FirstFailure returns when the unbroken run of failures began, zero when there is none: RFC 9309 2.3.1.4 sees a
// robots.txt in another light when it has been undefined for long.
func (s State) FirstFailure() time.Time { return instant(s.firstFailure) }

// Retry returns when a fetch may be tried again after a failure; zero when none has failed.
func (s State) Retry() time.Time { return instant(s.retry) }

func instant(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
