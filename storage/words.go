package storage

import "strings"

// The words of a line's fields. docs/reference/ledger.md defines them; a test compares the page with these tables.

// Decision is the kind of decision.
type Decision string

// Decisions.
const (
	DecisionAllow    Decision = "allow"    // the URL was requested, and this is the result
	DecisionDisallow Decision = "disallow" // robots.txt forbids it
	DecisionRefuse   Decision = "refuse"   // scope, trap or budget; the reason names the rule
	DecisionHold     Decision = "hold"     // a trap's history; the reason names the rule
	DecisionOptOut   Decision = "opt-out"  // an opt-out list has it: line, rule and list are those of its entry
	DecisionRobots   Decision = "robots"   // an exchange for robots.txt
	DecisionOwner    Decision = "owner"    // an exchange to prove that a host is the operator's own, or why it was skipped
)

// Kind is how a URL was found. It is empty for robots.txt and proofs of ownership.
type Kind string

// Kinds.
const (
	KindSeed     Kind = "seed"
	KindLink     Kind = "link"
	KindEmbed    Kind = "embed"
	KindRedirect Kind = "redirect"
	KindSitemap  Kind = "sitemap" // listed in a sitemap
	KindMap      Kind = "map"     // named as a sitemap, or an index of them
	KindScript   Kind = "script"  // a string in a script that looks like a file name
)

// PaceBy is the reason for a delay. Empty means no delay.
type PaceBy string

// Reasons for a delay.
const (
	ByFloor        PaceBy = "floor"
	ByCrawlDelay   PaceBy = "crawl-delay"
	ByRequestRate  PaceBy = "request-rate"
	ByResponseTime PaceBy = "response time"
	ByAddress      PaceBy = "address"
	ByRateLimit    PaceBy = "ratelimit"
	ByRetryAfter   PaceBy = "retry-after"
	ByErrors       PaceBy = "errors"       // failures in a row, or a 429 or 503 without Retry-After
	ByHostSetting  PaceBy = "host setting" // the operator, for some hosts
	ByOperator     PaceBy = "operator"     // the operator, during the run
	ByRobots       PaceBy = "robots.txt"   // it was unavailable and is requested again later
)

// Outcome is the result for a URL: the name of a frontier outcome, or OutcomeDeferred.
type Outcome string

// Outcomes. Lines of DecisionRobots and DecisionOwner have none.
const (
	OutcomeFetched    Outcome = "fetched"
	OutcomeRedirected Outcome = "redirected"
	OutcomeDisallowed Outcome = "disallowed"
	OutcomeFailed     Outcome = "failed"
	OutcomeGone       Outcome = "gone"
	OutcomeDropped    Outcome = "dropped"
	OutcomeHeld       Outcome = "held"
	OutcomeDeferred   Outcome = "deferred" // it is requested again later
)

// Change is the change of a URL since the previous generation. It is empty in the first, and where nothing was learned.
type Change string

// Changes.
const (
	ChangeNew       Change = "new"       // the previous generation has nothing readable
	ChangeChanged   Change = "changed"   // another payload, or another redirect target
	ChangeUnchanged Change = "unchanged" // by a 304, or the same payload
	ChangeFresh     Change = "fresh"     // not requested: the archived response is still fresh by its own headers
	ChangeGone      Change = "gone"      // 404 or 410 for a URL that existed
)

// Reasons of a failed exchange, other than a status. Package fetch classes failures by them.
const (
	ReasonDNS            = "dns"             // the lookup failed or returned no address
	ReasonNXDomain       = "nxdomain"        // the name does not exist
	ReasonPrivateAddress = "private address" // the guard refuses every address of the host
	ReasonNoIPv4         = "no IPv4 address" // the operator allows only IPv4
	ReasonNoIPv6         = "no IPv6 address" // the operator allows only IPv6
	ReasonProxy          = "proxy"           // the proxy does not connect to it, or cannot be used
	ReasonOptOut         = "opt-out"         // the host or its address is on an opt-out list
	ReasonConnect        = "connect"         // the host refuses the connection
	ReasonNoRoute        = "no route"        // no host or no route there
	ReasonTLS            = "tls"             // handshake, or a later alert
	ReasonTLSIssuer      = "tls unknown issuer"
	ReasonTLSName        = "tls wrong name"
	ReasonTLSExpired     = "tls expired" // or not valid yet
	ReasonTimeout        = "timeout"     // any timeout except that of the lookup
	ReasonReset          = "reset"       // the connection ended before a complete response head
	ReasonProtocol       = "protocol"    // not HTTP/1.x
	ReasonIncomplete     = "incomplete"  // the connection ended within the body
	ReasonCoding         = "coding"      // the body arrived whole, its content coding is broken
	ReasonAborted        = "aborted"     // the crawl was
	ReasonTooSlow        = "too slow"    // longer than one exchange may take
	ReasonSlow           = "slow"        // below the minimum speed, or other exchanges needed the slot
	ReasonLease          = "lease"       // it took longer than a lease allows
	ReasonPanic          = "panic"       // a defect of the crawler

	// NamedByScript precedes the status 404 or 410 of a URL that only a script names: not all such strings are files.
	NamedByScript = "named by script: "
)

// OfScript names for users the outcome of a URL that only a script names.
func OfScript(o Outcome) string {
	switch o {
	case OutcomeFetched:
		return "found"
	case OutcomeGone:
		return "not there"
	}
	return string(o)
}

// ToHead ends the reason of a response to HEAD that GET has yet to confirm.
const ToHead = " to HEAD"

// Reasons that name a rule begin with its part of the crawler.
const (
	RuleOfTraps  = "trap:"
	RuleOfScope  = "scope:"
	RuleOfBudget = "budget: " // the name of its flag follows

	// Rules of the scope that depend on how a link was found: another link may bring the URL in later.
	RuleNoFollow = "scope:nofollow"
	RuleDepth    = "scope:depth"
)

// Asked sums up the exchanges that have a record.
type Asked struct {
	Exchanges int64 // robots.txt and redirects included
	Answers   int64 // of them, those that received a response head
	Robots    int64 // of them, those for robots.txt
	Octets    int64 // received

	Kinds map[string]int64 // number of responses by KindsOfAnswer
}

// Prefixes of the names of KindsOfAnswer.
const (
	PrefixStatus = "status: " // followed by the class of the status code
	PrefixType   = "type: "   // followed by the media type of a 2xx response
)

// KindsOfAnswer returns the names under which a response is counted: its status class and, for 2xx, the TypeWord of its
// media type.
func KindsOfAnswer(status int, mediaType string) []string {
	switch {
	case status < 100 || status > 599:
		return nil
	case status/100 == 2:
		return []string{PrefixStatus + "2xx", PrefixType + TypeWord(mediaType)}
	}
	return []string{PrefixStatus + string('0'+rune(status/100)) + "xx"}
}

// TypeWord reduces a media type to one of a few words for statistics.
func TypeWord(mediaType string) string {
	switch mediaType {
	case "":
		return "none"
	case "text/html", "text/plain", "text/css", "text/xml", "text/javascript", "application/xhtml+xml", "application/xml",
		"application/json", "application/javascript", "application/pdf", "application/rss+xml", "application/atom+xml":
		return mediaType
	}
	switch top, _, _ := strings.Cut(mediaType, "/"); top {
	case "text", "image", "audio", "video", "font", "application":
		return top + "/*"
	}
	return "other"
}

// Beyond returns a − b, with nothing below zero.
func (a Asked) Beyond(b Asked) Asked {
	more := Asked{
		max(a.Exchanges-b.Exchanges, 0), max(a.Answers-b.Answers, 0),
		max(a.Robots-b.Robots, 0), max(a.Octets-b.Octets, 0), map[string]int64{},
	}
	for name, n := range a.Kinds {
		if n > b.Kinds[name] {
			more.Kinds[name] = n - b.Kinds[name]
		}
	}
	return more
}
