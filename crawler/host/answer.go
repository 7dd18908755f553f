package host

import (
	"errors"
	"net/http"
	"strconv"

	"curtsy/crawler/fetch"
	"curtsy/storage"
)

// Answer is what an exchange brought, as far as the URL and its host are concerned.
type Answer uint8

const (
	Answered    Answer = iota // 2xx, whole or cut by our own limits
	Redirected                // 3xx with somewhere to go
	Gone                      // 404, 410
	Refused                   // 401, 402, 403, 407, 451: the host says no
	Unwanted                  // our own limits or the operator's wishes kept us from the body
	Useless                   // any other answer that no retry mends
	Throttled                 // 429, 503
	Broken                    // other 5xx, 408, 425
	Unreachable               // no complete answer: DNS, connect, TLS, time-out, reset, protocol, incomplete
	Nowhere                   // NXDOMAIN
	Guarded                   // a rule of our own kept us from the address
	CutOff                    // the crawl ended meanwhile
)

// Reasons that are none of a server's.
const (
	Aborted  = storage.ReasonAborted // the crawl was
	OverTime = storage.ReasonTooSlow // longer than one exchange may take
	TooSlow  = storage.ReasonSlow    // less than the least speed came, or others needed the place of a slow exchange
)

// Classify says which answer an exchange is, and why in a few stable words.
func Classify(ex *fetch.Exchange) (Answer, string) {
	if f := ex.Failure; f != nil && !statusTells(ex.Status, f.Class) {
		switch {
		case f.Class == fetch.NXDomain:
			return Nowhere, string(f.Class)
		case f.Class.Ours():
			return Guarded, string(f.Class)
		case f.Class == fetch.Coding, errors.Is(f, fetch.ErrRepeated):
			return Useless, string(f.Class) // it came whole, and would again
		case f.Class == fetch.Stopped:
			return CutOff, Aborted
		case errors.Is(f, fetch.ErrSlow):
			return Unreachable, TooSlow
		case errors.Is(f, fetch.ErrWhole):
			return Unwanted, OverTime
		}
		return Unreachable, string(f.Class)
	}
	status := func() string { return "status " + strconv.Itoa(ex.Status) }
	switch s := ex.Status; {
	case s == http.StatusTooManyRequests || s == http.StatusServiceUnavailable:
		return Throttled, status()
	case s >= 500 || s == http.StatusRequestTimeout || s == http.StatusTooEarly:
		return Broken, status()
	case s == http.StatusNotFound || s == http.StatusGone:
		return Gone, status()
	case s == 401 || s == 402 || s == 403 || s == 407 || s == 451:
		return Refused, status()
	case s >= 300 && s < 400 && s != http.StatusNotModified && ex.Header.Get("Location") != "":
		return Redirected, status()
	case s < 200 || s >= 300:
		return Useless, status()
	case ex.Unwanted != "":
		return Unwanted, ex.Unwanted
	}
	return Answered, ""
}

// statusTells reports whether a status says enough, though something came of the body that could not be used: a host that is
// overloaded asks for rest whether or not its words about it come whole, and what is no page needs no decoding.
func statusTells(status int, f fetch.Class) bool {
	busy := status == http.StatusTooManyRequests || status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooEarly
	return busy || f == fetch.Coding && status != 0 && (status < 200 || status > 299)
}

// IsFailure reports whether a is a failure of the host that may pass (politeness rule 12).
func (a Answer) IsFailure() bool { return a == Broken || a == Unreachable || a == Nowhere }

// Attempts is how many exchanges a URL gets that is answered like this.
func (a Answer) Attempts() int {
	switch a {
	case Throttled:
		return 5
	case Broken, Unreachable:
		return 3
	case Nowhere:
		return 2
	}
	return 1
}

// FindingAttempts is Attempts for an answer that is a finding.
const FindingAttempts = 2

// FailureClass is the name under which a failure of the host is counted; empty for what is none.
func FailureClass(a Answer, ex *fetch.Exchange) string {
	switch {
	case a != Throttled && !a.IsFailure():
		return ""
	case ex.Failure != nil:
		return string(ex.Failure.Class)
	case ex.Status >= 500:
		return "5xx"
	}
	return strconv.Itoa(ex.Status) // 429, 408, 425
}
