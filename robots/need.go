package robots

import (
	"strings"
	"time"
)

// Action is what the holder of an authority's turn must do before it may judge a URL.
type Action uint8

// The actions. The zero Action permits nothing.
const (
	Fetch   Action = iota // there is no valid policy: fetch Need.URL with this turn
	Refresh               // the policy is valid, but near its end: fetch Need.URL with this turn all the same
	Judge                 // the policy is valid
	Wait                  // unreachable: nothing may be fetched for Need.After
)

// String returns the action's name.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "unknown action"
}

var actionNames = [...]string{"fetch", "refresh", "judge", "wait"}

// Need says what the holder of an authority's turn must do before it may judge a URL.
type Need struct {
	Action Action

	// With Fetch and Refresh: the URL to ask, which is the authority's /robots.txt or the target of a redirect from it,
	// perhaps on another authority, and then due under its turn and pace; how many redirects led there; and the
	// values of the request's conditional fields (RFC 9110 13.1), empty for none.
	URL             string
	Hop             int
	IfNoneMatch     string
	IfModifiedSince string

	// With Wait: for how long.
	After time.Duration
}

// Need is the Need of the zero Terms: RFC 9309 with the defaults.
func (s State) Need(origin string, now time.Time) Need { return Terms{}.Need(s, origin, now) }

// Need says what must be done at the instant now with a URL of origin, written "scheme://host" or
// "scheme://host:port".
//
// A clock that was set back does not lengthen a life: an answer from the future is no answer, and a failure from the
// future does not make anyone wait.
func (t Terms) Need(s State, origin string, now time.Time) Need {
	n := now.UnixMicro()
	may := s.failures == 0 || n >= s.retry || n < s.tried
	valid := t.valid(s, n)
	switch {
	case !valid && !may:
		return Need{Action: Wait, After: time.Duration(s.retry-n) * time.Microsecond}
	case !valid:
		return s.ask(Fetch, origin, n)
	case may && (s.failures > 0 || n >= s.expires-(s.expires-s.fetched)/10):
		return s.ask(Refresh, origin, n) // near the end of its life, or used because nothing better can be had
	}
	return Need{Action: Judge}
}

// valid reports whether there is an answer that may be used at n.
func (t Terms) valid(s State, n int64) bool {
	if s.kind == unfetched || s.kind == unreachable || n < s.fetched || n >= s.expires {
		return false
	}
	most := t.maxLife()
	switch t = t.withDefaults(); {
	case s.failures > 0 && t.After30Days != Deny:
		return true
	case s.failures > 0 && t.StaleIfError != Deny:
		most = outage
	}
	return n < s.fetched+most.Microseconds()
}

// ask returns the Need for the exchange that is due.
func (s State) ask(a Action, origin string, n int64) Need {
	need := Need{Action: a, URL: robotsURL(origin)}
	if s.chain.alive(n) {
		need.URL, need.Hop = s.chain.next, s.chain.hops
	}
	// Validators are those of one resource (RFC 9110 8.8): they are shown to no other.
	if s.hasBody && need.URL == s.final {
		need.IfNoneMatch, need.IfModifiedSince = s.etag, s.modified
	}
	return need
}

// alive reports whether the chain is to be followed at n. One that was left lying for a day is begun anew.
func (c chain) alive(n int64) bool {
	return c.hops > 0 && c.since <= n && n-c.since < maxLife.Microseconds()
}

// robotsURL returns the URL of an authority's robots.txt (RFC 9309 2.3), without a default port.
func robotsURL(origin string) string {
	if strings.HasPrefix(origin, "https:") {
		return strings.TrimSuffix(origin, ":443") + ownPath
	}
	return strings.TrimSuffix(origin, ":80") + ownPath
}
