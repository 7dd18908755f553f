package robots

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
)

// State is the robots policy of an authority between its turns. It is a value: Next makes a new one, it can be compared
// with ==, and AppendBinary and UnmarshalBinary store it. In the zero State nothing is known.
//
// Times are kept to the microsecond.
type State struct {
	kind kind

	// The answer that determines kind.
	fetched int64 // when it came or was last confirmed; microseconds since 1970, 0 for never; so all times here
	expires int64
	final   string // the URL that gave it
	flags   Flags

	// The last robots.txt. It outlives an outage, so that a 304 can confirm it, but not an answer that it is missing.
	hasBody  bool
	digest   [32]byte
	etag     string
	modified string

	// The last fetch, and its run of failures.
	tried        int64
	status       int
	failure      string
	failures     int
	firstFailure int64
	retry        int64

	chain chain
}

// kind selects the policy for the URLs of an authority. The numbers are stable on disk.
type kind uint8

const (
	unfetched   kind = 0
	ruled       kind = 1 // the body
	unavailable kind = 2 // there is no robots.txt: all is allowed (RFC 9309 2.3.1.3)
	unreachable kind = 3 // it cannot be fetched: nothing is allowed (2.3.1.4)
	restricted  kind = 4 // it is forbidden, and so is all else (1996 3.1)
	kinds            = 5
)

// chain is a run of redirects that is being followed, a hop per turn. The zero chain is empty.
type chain struct {
	hops  int                 // redirects followed
	next  string              // the URL that is due
	since int64               // time of the last redirect
	seen  [maxHops + 1]uint64 // digests of the URLs requested so far, seen[hops] that of next
	down  bool                // from https to http at some hop
}

// Flags are oddities of a robots.txt, for people. They change no verdict. The numbers are stable on disk.
type Flags uint8

// The flags.
const (
	HTML       Flags = 1 << iota // served as HTML, or looks like it
	Truncated                    // longer than MaxBody
	BOM                          // begins with a byte order mark
	Binary                       // does not look like text
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

// Body returns the SHA-256 of the body that decides, which must be kept as long as the State; ok is false when none
// does.
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

// Fetched returns when the answer that decides came or was last confirmed, or was given up (Terms.After30Days); zero
// without one.
func (s State) Fetched() time.Time { return instant(s.fetched) }

// Expires returns when that answer expires.
func (s State) Expires() time.Time { return instant(s.expires) }

// Flags returns the oddities of the body that decides.
func (s State) Flags() Flags { return s.flags }

// FinalURL returns the URL that gave the answer, after all redirects; empty without one.
func (s State) FinalURL() string { return s.final }

// Hops returns the number of redirects followed in the current fetch; 0 without one.
func (s State) Hops() int { return s.chain.hops }

// Passed reports whether the redirects of the current fetch have led to a URL, including the one that is due.
func (s State) Passed(url string) bool { return slices.Contains(s.chain.requested(), hash(url)) }

// Status returns the HTTP status of the last exchange; 0 for none.
func (s State) Status() int { return s.status }

// Failure returns why the last fetch failed; empty when it did not.
func (s State) Failure() string { return s.failure }

// Failures returns the number of failed fetches in a row.
func (s State) Failures() int { return s.failures }

// FirstFailure returns when the unbroken run of failures began, zero without one: RFC 9309 2.3.1.4 permits other
// rules after a long outage.
func (s State) FirstFailure() time.Time { return instant(s.firstFailure) }

// Retry returns when a fetch may be retried after a failure; zero when none has failed.
func (s State) Retry() time.Time { return instant(s.retry) }

func instant(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

const MaxState = 8 << 10 // bytes that an encoded State never exceeds

const stateVersion = 1 // first byte of an encoded State

// AppendBinary appends the encoding of s, at most MaxState bytes. The error is always nil.
func (s State) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, stateVersion, byte(s.kind), byte(s.flags), bit(s.hasBody)|bit(s.chain.down)<<1)
	for _, v := range s.times() {
		b = binary.AppendVarint(b, *v)
	}
	for _, v := range s.counts() {
		b = binary.AppendUvarint(b, uint64(*v))
	}
	for _, v := range s.texts() {
		b = binary.AppendUvarint(b, uint64(len(*v)))
		b = append(b, *v...)
	}
	if s.hasBody {
		b = append(b, s.digest[:]...)
	}
	for _, h := range s.chain.requested() {
		b = binary.BigEndian.AppendUint64(b, h)
	}
	return b, nil
}

// UnmarshalBinary decodes s. No bytes give the zero State. On an error s is unchanged.
func (s *State) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		*s = State{}
		return nil
	}
	if b[0] != stateVersion {
		return fmt.Errorf("robots: read state: format %d, want %d", b[0], stateVersion)
	}
	var t State
	d := decoder{b: b[1:]}
	t.kind, t.flags = kind(d.octet()), Flags(d.octet())
	bits := d.octet()
	t.hasBody, t.chain.down = bits&1 != 0, bits&2 != 0
	for _, v := range t.times() {
		*v = d.varint()
	}
	for _, v := range t.counts() {
		*v = d.count()
	}
	for _, v := range t.texts() {
		*v = string(d.take(d.count()))
	}
	if t.hasBody {
		copy(t.digest[:], d.take(len(t.digest)))
	}
	if t.chain.hops > maxHops {
		d.bad = true
	}
	if !d.bad {
		for i := range t.chain.requested() {
			t.chain.seen[i] = binary.BigEndian.Uint64(d.take(8))
		}
	}
	if d.bad || len(d.b) > 0 || bits > 3 || !t.sound() {
		return fmt.Errorf("robots: read state: the %d bytes are damaged", len(b))
	}
	*s = t
	return nil
}

// times, counts and texts list the fields of each encoding, in the order of the format.
func (s *State) times() [6]*int64 {
	return [...]*int64{&s.fetched, &s.expires, &s.tried, &s.firstFailure, &s.retry, &s.chain.since}
}

func (s *State) counts() [3]*int { return [...]*int{&s.status, &s.failures, &s.chain.hops} }

func (s *State) texts() [5]*string {
	return [...]*string{&s.final, &s.etag, &s.modified, &s.failure, &s.chain.next}
}

// requested returns the used part of seen.
func (c *chain) requested() []uint64 {
	if c.hops == 0 {
		return nil
	}
	return c.seen[:c.hops+1]
}

// sound reports whether Next could have made s.
func (s *State) sound() bool {
	return s.kind < kinds && s.flags < flagsEnd &&
		(s.kind != ruled || s.hasBody) &&
		(s.chain.hops > 0) == (s.chain.next != "") &&
		len(s.final) <= maxURL && len(s.chain.next) <= maxURL && len(s.failure) <= maxFailure &&
		len(s.etag) <= maxValidator && len(s.modified) <= maxValidator
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// decoder decodes a State. After the first failure, bad is set and all else is zero.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n int) []byte {
	if n > len(d.b) {
		d.bad = true
		return make([]byte, 0, 8)[:min(n, 8)]
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) octet() byte { return d.take(1)[0] }

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) count() int {
	v, n := binary.Uvarint(d.b)
	d.skip(n)
	if v > 1<<30 {
		d.bad = true
		return 0
	}
	return int(v)
}

func (d *decoder) skip(n int) {
	if n <= 0 {
		d.bad = true
		return
	}
	d.b = d.b[n:]
}
