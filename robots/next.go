package robots

import (
	"bytes"
	"crypto/sha256"
	"hash/fnv"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxHops bounds the redirects in a row, whatever the terms.
const maxHops = 10

// The longest texts of a State, in bytes.
const (
	maxURL       = 2048
	maxValidator = 1024
	maxFailure   = 200
)

// Exchange is the result of one request for a robots.txt, or for a redirect's target on the way to it.
type Exchange struct {
	URL      string              // as requested, the base of a redirect; empty means Need.URL
	Status   int                 // 0 when there was no complete response
	Header   map[string][]string // with canonical names, as in net/http
	Body     []byte              // decoded; of a longer one at least MaxBody+1 bytes
	Oversize bool                // the body is longer than Body
	Located  bool                // the caller has resolved the redirect: Location is the result
	Location string              // with Located: the absolute URL of the redirect; empty when it is invalid
	Failure  string              // reason for an incomplete or missing response ("dns", "timeout", …); empty if it is complete
}

// Next is the Next of the zero Terms: RFC 9309 with the defaults.
func Next(s State, origin string, ex Exchange, now time.Time) (State, Need) {
	return Terms{}.Next(s, origin, ex, now)
}

// Next returns the State of origin after an exchange that it needed, and the next Need. It is pure.
func (t Terms) Next(s State, origin string, ex Exchange, now time.Time) (State, Need) {
	t = t.withDefaults()
	n := now.UnixMicro()
	due := s.ask(Fetch, origin, n)
	if ex.URL == "" {
		ex.URL = due.URL
	}
	s.tried, s.status, s.failure = n, min(max(ex.Status, 0), 999), ""
	if due.Hop == 0 {
		s.chain = chain{}
	}

	outcome, why := t.classify(ex, due)
	if outcome == moved {
		outcome, why = t.follow(&s, origin, ex, n)
	}
	life := header(ex.Header).life(now, t.maxLife())
	switch outcome {
	case whole:
		s.keep(ex, due.URL, n, life)
	case unchanged:
		s.renew(ex, due.URL, n, life)
	case absent:
		s.release(unavailable, due.URL, n, t.maxLife())
	case closed:
		s.release(restricted, due.URL, n, t.maxLife())
	case broken:
		t.fail(&s, origin, why, header(ex.Header).retryAfter(now), n)
	}
	if outcome != moved {
		s.chain = chain{}
	}
	return s, t.Need(s, origin, now)
}

// outcome is the effect of an exchange on the policy.
type outcome uint8

const (
	whole     outcome = iota // a robots.txt
	unchanged                // the stored one, confirmed
	absent                   // "unavailable"
	closed                   // "access restrictions"
	moved                    // a redirect
	broken                   // "unreachable"; in 1996 a temporary failure, for which visits are deferred
)

// classify returns the outcome of an exchange, and why if it is broken.
func (t Terms) classify(ex Exchange, due Need) (o outcome, why string) {
	status := "status " + strconv.Itoa(ex.Status)
	switch s := ex.Status; {
	case ex.Failure != "":
		return broken, ex.Failure
	case s == 0:
		return broken, "no response"
	case s == 206: // no range was requested
		return broken, "partial content"
	case s >= 200 && s < 300:
		return t.classifyBody(ex)
	case s == 304 && (due.IfNoneMatch != "" || due.IfModifiedSince != ""):
		return unchanged, ""
	case s == 301 || s == 302 || s == 303 || s == 307 || s == 308:
		return moved, ""
	case (s == 429 || s == 408 || s == 425) && t.TooMany == Deny:
		// By the letter of RFC 9309 2.3.1.3 these are "unavailable". But a server that cannot serve now may have rules.
		return broken, status
	case (s == 401 || s == 403) && t.Forbidden == Deny:
		return closed, ""
	case s >= 400 && s < 500:
		return absent, ""
	}
	return broken, status
}

func (t Terms) classifyBody(ex Exchange) (outcome, string) {
	switch {
	case len(ex.Body) == 0 && t.Standard == Std1994 && !t.Strict:
		return absent, "" // "it will be treated as if it was not present"
	case ex.Oversize && len(ex.Body) <= MaxBody:
		// Parse could not know whether the last line is whole.
		return broken, "incomplete"
	case bytes.HasPrefix(ex.Body, []byte("\x1F\x8B")):
		return broken, "compressed, but not declared"
	}
	return whole, ""
}

// keep makes a body the policy (RFC 9309 2.3.1.1).
func (s *State) keep(ex Exchange, from string, n int64, life time.Duration) {
	s.hasBody, s.digest = true, sha256.Sum256(ex.Body)
	s.etag, s.modified = validator(ex, "Etag"), validator(ex, "Last-Modified")
	s.flags = flagsOf(ex)
	if s.chain.down {
		s.flags |= Downgraded
	}
	s.decide(ruled, from, n, life)
}

// renew makes the stored body the policy again, after a 304, whose header replaces the stored one (RFC 9111 4.3.4).
func (s *State) renew(ex Exchange, from string, n int64, life time.Duration) {
	if v := validator(ex, "Etag"); v != "" {
		s.etag = v
	}
	if v := validator(ex, "Last-Modified"); v != "" {
		s.modified = v
	}
	s.decide(ruled, from, n, life)
}

// release forgets the body: there is no robots.txt for the crawler (RFC 9309 2.3.1.3), or access is forbidden
// altogether (1996 3.1).
func (s *State) release(k kind, from string, n int64, life time.Duration) {
	s.forget()
	s.decide(k, from, n, life)
}

func (s *State) forget() {
	s.hasBody, s.digest, s.etag, s.modified, s.flags = false, [32]byte{}, "", "", 0
}

func (s *State) decide(k kind, from string, n int64, life time.Duration) {
	s.kind, s.fetched, s.expires, s.final = k, n, n+life.Microseconds(), from
	if len(from) > maxURL {
		s.final = ""
	}
	s.failures, s.firstFailure, s.retry = 0, 0, 0
}

// fail disallows everything (RFC 9309 2.3.1.4), except while stated rules are fresh, which hold until they expire. An
// answer that there are no rules does not outlive a failure.
func (t Terms) fail(s *State, origin, why string, requested time.Duration, n int64) {
	fresh := s.kind == ruled && t.valid(*s, n)
	s.failure = why[:min(len(why), maxFailure)]
	s.failures = min(s.failures+1, 1<<30)
	if s.firstFailure == 0 || s.firstFailure > n {
		s.firstFailure = n
	}
	s.retry = n + max(backoff(origin, s.failures), requested).Microseconds()
	if !fresh {
		t.endure(s, n)
	}
}

// endure decides the policy of an outage without fresh rules.
func (t Terms) endure(s *State, n int64) {
	const month = int64(outage / time.Microsecond)
	long := n-s.firstFailure >= month
	switch {
	case long && t.After30Days == Allow:
		s.forget()
		s.kind, s.fetched, s.expires = unavailable, n, n+t.maxLife().Microseconds()
	case long && t.After30Days == UseStale && s.hasBody:
		s.kind, s.expires = ruled, n+t.maxLife().Microseconds()
	case t.StaleIfError == UseStale && s.hasBody && s.fetched <= n && n < s.fetched+month:
		s.kind, s.expires = ruled, s.fetched+month
	default:
		s.kind = unreachable
	}
}

// follow takes a redirect. The rules at its end bind the first authority (RFC 9309 2.3.1.2). Too many count as
// unavailable, or unreachable; a redirect that leads nowhere or in a circle, as unreachable.
func (t Terms) follow(s *State, origin string, ex Exchange, n int64) (outcome, string) {
	target, why := redirect(ex)
	if why != "" {
		return broken, why
	}
	c := &s.chain
	if c.hops == 0 {
		c.seen[0] = hash(robotsURL(origin))
	}
	h := hash(target)
	for _, seen := range c.seen[:c.hops+1] {
		if seen == h {
			return broken, "redirect loop"
		}
	}
	switch {
	case c.hops < t.maxHops():
	case t.RedirectOverflow == Allow:
		return absent, ""
	default:
		return broken, "too many redirects"
	}
	c.hops++
	c.seen[c.hops] = h
	c.next, c.since = target, n
	if strings.HasPrefix(ex.URL, "https:") && strings.HasPrefix(target, "http:") {
		c.down = true
	}
	return moved, ""
}

// redirect returns the URL that an exchange redirects to, or why it gives no URL.
func redirect(ex Exchange) (target, why string) {
	location := header(ex.Header).get("Location")
	switch {
	case location == "":
		return "", "redirect without Location"
	case ex.Located && ex.Location == "":
		return "", "redirect to an invalid URL"
	case ex.Located && len(ex.Location) > maxURL:
		return "", "redirect to a URL that is too long"
	case ex.Located:
		return ex.Location, ""
	}
	base, err := url.Parse(ex.URL)
	if err != nil {
		return "", "redirect from an invalid URL"
	}
	u, err := base.Parse(location)
	if err != nil || u.Hostname() == "" {
		return "", "redirect to an invalid URL"
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", "redirect to a scheme other than http and https"
	}
	u.Host = strings.ToLower(u.Host)
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	if p := u.Port(); p == "" || u.Scheme == "http" && p == "80" || u.Scheme == "https" && p == "443" {
		u.Host = strings.TrimSuffix(u.Host, ":"+p)
	}
	if target = u.String(); len(target) > maxURL {
		return "", "redirect to a URL that is too long"
	}
	return target, ""
}

// validator returns a field for a conditional request, empty when it is missing, too long or invalid.
func validator(ex Exchange, name string) string {
	v := header(ex.Header).get(name)
	if len(v) > maxValidator || hasControl(v) {
		return ""
	}
	return v
}

// flagsOf returns the oddities of a body.
func flagsOf(ex Exchange) (f Flags) {
	media, _, _ := strings.Cut(header(ex.Header).get("Content-Type"), ";")
	media = strings.ToLower(strings.TrimSpace(media))
	family, _, _ := strings.Cut(media, "/")
	head := ex.Body[:min(len(ex.Body), 512)]
	if media == "text/html" || media == "application/xhtml+xml" || bytes.HasPrefix(bytes.TrimSpace(head), []byte("<")) {
		f |= HTML
	}
	if family == "image" || family == "video" || media == "application/zip" || bytes.IndexByte(head, 0) >= 0 &&
		utf16Order(head) == nil {
		f |= Binary
	}
	if bytes.HasPrefix(ex.Body, []byte(byteOrderMark)) || utf16Order(head) != nil && head[0]|head[1] == 0xFF {
		f |= BOM
	}
	if len(ex.Body) > MaxBody {
		f |= Truncated
	}
	return f
}

// Action is what the holder of an authority's turn must do before it may judge a URL.
type Action uint8

// The actions. The zero Action permits nothing.
const (
	Fetch   Action = iota // there is no valid policy: fetch Need.URL with this turn
	Refresh               // the policy is valid, but near its end: fetch Need.URL with this turn
	Judge                 // the policy is valid
	Wait                  // unreachable: nothing may be fetched for Need.After
)

func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "unknown action"
}

var actionNames = [...]string{"fetch", "refresh", "judge", "wait"}

// Need is an Action with its details.
type Need struct {
	Action Action

	// With Fetch and Refresh: the URL to request, which is the authority's /robots.txt or the target of a redirect from
	// it, perhaps on another authority, and then due under its turn and pace; the number of redirects before it; and
	// the values of the request's conditional fields (RFC 9110 13.1), empty for none.
	URL             string
	Hop             int
	IfNoneMatch     string
	IfModifiedSince string

	// With Wait: for how long.
	After time.Duration
}

// Need is the Need of the zero Terms: RFC 9309 with the defaults.
func (s State) Need(origin string, now time.Time) Need { return Terms{}.Need(s, origin, now) }

// Need returns what must be done at the instant now with a URL of origin, written "scheme://host" or
// "scheme://host:port".
//
// A clock that was set back does not lengthen a life: an answer or a failure from the future is ignored.
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
		return s.ask(Refresh, origin, n) // near the end of its life, or used for want of a better one
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
	// A chain of redirects that is a day old starts again.
	if c := s.chain; c.hops > 0 && c.since <= n && n-c.since < maxLife.Microseconds() {
		need.URL, need.Hop = s.chain.next, s.chain.hops
	}
	// Validators belong to one resource (RFC 9110 8.8): no other gets them.
	if s.hasBody && need.URL == s.final {
		need.IfNoneMatch, need.IfModifiedSince = s.etag, s.modified
	}
	return need
}

// robotsURL returns the URL of an authority's robots.txt (RFC 9309 2.3), without a default port.
func robotsURL(origin string) string {
	if strings.HasPrefix(origin, "https:") {
		return strings.TrimSuffix(origin, ":443") + ownPath
	}
	return strings.TrimSuffix(origin, ":80") + ownPath
}

// How long answers are used, and how long a failure delays.
const (
	maxLife       = 24 * time.Hour  // RFC 9309 2.4: a copy should not be used for longer
	minLife       = 5 * time.Minute // so that a server that forbids caching does not get a request for each page
	firstRetry    = time.Minute     // doubled with each failure in a row
	maxRetry      = time.Hour
	maxRetryAfter = 24 * time.Hour // the crawler decides on a longer rest of the whole host
)

// header is net/http's Header: canonical names, a value per line.
type header map[string][]string

func (h header) get(name string) string {
	if v := h[name]; len(v) > 0 {
		return strings.TrimSpace(v[0])
	}
	return ""
}

// life returns how long an answer that came at now may be used by its header (RFC 9111 4.2), for a private cache,
// within minLife and most; most without a lifetime. A robots.txt under no-store is used for minLife, and kept beyond
// that only as evidence.
func (h header) life(now time.Time, most time.Duration) time.Duration {
	fresh, ok := h.cacheControl()
	if !ok {
		expires := h.get("Expires")
		if expires == "" {
			return most
		}
		date, ok := httpDate(h.get("Date"))
		if !ok {
			date = now
		}
		fresh = 0 // an invalid date has expired (RFC 9111 5.3)
		if t, ok := httpDate(expires); ok {
			fresh = t.Sub(date)
		}
	}
	if age, ok := digits(h.get("Age")); ok {
		fresh -= age
	}
	return min(max(fresh, minLife), most)
}

// cacheControl returns the freshness lifetime of Cache-Control; ok is false when it gives none. The shortest of several
// counts, and an invalid one means stale (RFC 9111 4.2.1).
func (h header) cacheControl() (fresh time.Duration, ok bool) {
	fresh = 10 * 365 * 24 * time.Hour
	for _, line := range h["Cache-Control"] {
		for directive := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "no-store", "no-cache":
				fresh, ok = 0, true
			case "max-age":
				d, _ := digits(strings.Trim(value, ` "`))
				fresh, ok = min(fresh, d), true
			}
		}
	}
	return fresh, ok
}

// retryAfter returns the delay of Retry-After (RFC 9110 10.2.3), at most maxRetryAfter; 0 without one. An invalid value
// counts as maxRetryAfter.
func (h header) retryAfter(now time.Time) time.Duration {
	v := h.get("Retry-After")
	if v == "" {
		return 0
	}
	d, ok := digits(v)
	if !ok {
		t, ok := httpDate(v)
		if !ok {
			return maxRetryAfter
		}
		d = t.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}

// backoff returns the delay after so many failures in a row. Up to a fifth is added, by origin, so that hosts that
// failed together do not all come back together.
func backoff(origin string, failures int) time.Duration {
	d := firstRetry
	for range failures - 1 {
		if d *= 2; d >= maxRetry {
			d = maxRetry
			break
		}
	}
	return d + d/5*time.Duration(hash(origin+" "+strconv.Itoa(failures))%1001)/1000
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// digits reads a number of seconds, at most ten years.
func digits(s string) (time.Duration, bool) {
	n, rest := leadingDigits(s)
	if s == "" || rest != "" {
		return 0, false
	}
	return time.Duration(min(n, 10*365*24*60*60)) * time.Second, true
}

// httpDate reads a date in the three forms of RFC 9110 5.6.7.
func httpDate(s string) (time.Time, bool) {
	for _, layout := range [...]string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
