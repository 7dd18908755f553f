package crawler

import (
	"errors"
	"net/http"
	"strconv"

	"curtsy/crawler/fetch"
)

// answer is what an exchange brought, as far as the URL and its host are concerned.
type answer uint8

const (
	answered    answer = iota // 2xx, whole or cut by our own limits
	redirected                // 3xx with somewhere to go
	gone                      // 404, 410
	refused                   // 401, 402, 403, 407, 451: the host says no
	unwanted                  // our own limits or the operator's wishes kept us from the body
	useless                   // any other answer that no retry mends
	throttled                 // 429, 503
	broken                    // other 5xx, 408, 425
	unreachable               // no complete answer: DNS, connect, TLS, time-out, reset, protocol, incomplete
	nowhere                   // NXDOMAIN
	guarded                   // our own guard refused the address
	cutOff                    // the crawl ended meanwhile
)

// classify says which answer an exchange is, and why in a few stable words.
func classify(ex *fetch.Exchange) (answer, string) {
	if f := ex.Failure; f != nil && !statusTells(ex.Status, f.Class) {
		switch {
		case f.Class == fetch.NXDomain:
			return nowhere, string(f.Class)
		case f.Class == fetch.PrivateAddress, f.Class == fetch.OptOut:
			return guarded, string(f.Class)
		case f.Class == fetch.Coding:
			return useless, string(f.Class) // it came whole, and would again
		case f.Class == fetch.Stopped:
			return cutOff, reasonAborted
		case errors.Is(f, fetch.ErrSlow):
			return unreachable, reasonSlow
		case errors.Is(f, fetch.ErrWhole):
			return unwanted, "too slow"
		}
		return unreachable, string(f.Class)
	}
	status := func() string { return "status " + strconv.Itoa(ex.Status) }
	switch s := ex.Status; {
	case s == http.StatusTooManyRequests || s == http.StatusServiceUnavailable:
		return throttled, status()
	case s >= 500 || s == http.StatusRequestTimeout || s == http.StatusTooEarly:
		return broken, status()
	case s == http.StatusNotFound || s == http.StatusGone:
		return gone, status()
	case s == 401 || s == 402 || s == 403 || s == 407 || s == 451:
		return refused, status()
	case s >= 300 && s < 400 && s != http.StatusNotModified && ex.Header.Get("Location") != "":
		return redirected, status()
	case s < 200 || s >= 300:
		return useless, status()
	case ex.Unwanted != "":
		return unwanted, ex.Unwanted
	}
	return answered, ""
}

// statusTells reports whether a status says enough, though something came of the body that could not be used: a host that is
// overloaded asks for rest whether or not its words about it come whole, and what is no page needs no decoding.
func statusTells(status int, f fetch.Class) bool {
	busy := status == http.StatusTooManyRequests || status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooEarly
	return busy || f == fetch.Coding && status != 0 && (status < 200 || status > 299)
}

// blame reports whether a is a failure of the host that may pass (politeness rule 12).
func (a answer) blame() bool { return a == broken || a == unreachable || a == nowhere }

// again is how many exchanges a URL gets that is answered like this.
func (a answer) again() int {
	switch a {
	case throttled:
		return 5
	case broken, unreachable:
		return 3
	case nowhere:
		return 2
	}
	return 1
}

// failureClass is the name under which a failure of the host is counted; empty for what is none.
func failureClass(a answer, ex *fetch.Exchange) string {
	switch {
	case a != throttled && !a.blame():
		return ""
	case ex.Failure != nil:
		return string(ex.Failure.Class)
	case ex.Status >= 500:
		return "5xx"
	}
	return strconv.Itoa(ex.Status) // 429, 408, 425
}
