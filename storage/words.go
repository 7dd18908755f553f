package storage

import "strings"

// The words that a line says of itself. docs/reference/ledger.md has what each means, and a test holds the page to the tables
// below. Each is a type of its own, so that none stands where another belongs.

// Decision is which part of the story decided.
type Decision string

// Decisions.
const (
	DecisionAllow    Decision = "allow"    // the gate let the URL pass, and this is how it ended
	DecisionDisallow Decision = "disallow" // robots.txt forbids it
	DecisionRefuse   Decision = "refuse"   // scope, trap or budget; the reason names the rule
	DecisionHold     Decision = "hold"     // a trap's history; the reason names the rule
	DecisionOptOut   Decision = "opt-out"  // an opt-out list has it: line, rule and list are those of its entry
	DecisionRobots   Decision = "robots"   // an exchange for robots.txt
	// an exchange for the proof that a host is the operator's own, or why there was none
	DecisionOwner Decision = "owner"
)

// Kind is how a URL was found. Empty is for what is no task.
type Kind string

// Kinds.
const (
	KindSeed     Kind = "seed"
	KindLink     Kind = "link"
	KindEmbed    Kind = "embed"
	KindRedirect Kind = "redirect"
	KindSitemap  Kind = "sitemap" // listed in a sitemap
	KindMap      Kind = "map"     // named as a sitemap, or an index of them
	KindScript   Kind = "script"  // a script names what looks like a file
)

// PaceBy is who asked for a pause. Empty is for nobody.
type PaceBy string

// Those who ask for a pause.
const (
	ByFloor        PaceBy = "floor"
	ByCrawlDelay   PaceBy = "crawl-delay"
	ByRequestRate  PaceBy = "request-rate"
	ByResponseTime PaceBy = "response time"
	ByAddress      PaceBy = "address"
	ByRateLimit    PaceBy = "ratelimit"
	ByRetryAfter   PaceBy = "retry-after"
	ByErrors       PaceBy = "errors"       // failures in a row, or a 429 or 503 without Retry-After
	ByHostSetting  PaceBy = "host setting" // the operator, for some hosts alone
	ByOperator     PaceBy = "operator"     // who raised the pace while the run went on
	ByRobots       PaceBy = "robots.txt"   // that could not be had, and is asked for again later
)

// Outcome is what became of a URL: a frontier outcome's name, or Deferred.
type Outcome string

// Outcomes. Lines of Robots and Owner have none: they are no tasks.
const (
	OutcomeFetched    Outcome = "fetched"
	OutcomeRedirected Outcome = "redirected"
	OutcomeDisallowed Outcome = "disallowed"
	OutcomeFailed     Outcome = "failed"
	OutcomeGone       Outcome = "gone"
	OutcomeDropped    Outcome = "dropped"
	OutcomeHeld       Outcome = "held"
	OutcomeDeferred   Outcome = "deferred" // it comes again
)

// Change is what became of a URL since the crawl's generation before. It is empty in the first one, and where nothing
// was learned.
type Change string

// Changes.
const (
	ChangeNew       Change = "new"       // there was nothing, or nothing that can be read
	ChangeChanged   Change = "changed"   // another payload, or another place that a redirect leads to
	ChangeUnchanged Change = "unchanged" // the server says so, or the payload is the same
	ChangeFresh     Change = "fresh"     // not asked: the archived answer holds still, by the server's own word
	ChangeGone      Change = "gone"      // 404 or 410, where something was
)

// Reasons of an exchange that brought nothing of use, other than a status. Package fetch classes failures by them.
const (
	ReasonDNS            = "dns"             // the look-up failed or gave no address
	ReasonNXDomain       = "nxdomain"        // the name does not exist
	ReasonPrivateAddress = "private address" // every address of the host is refused by the guard
	ReasonNoIPv4         = "no IPv4 address" // IPv4 alone is to be used, and the host has none
	ReasonNoIPv6         = "no IPv6 address" // likewise
	ReasonProxy          = "proxy"           // the proxy does not lead there, or cannot be used
	ReasonOptOut         = "opt-out"         // the host or its address is on an opt-out list
	ReasonConnect        = "connect"         // no connection: somebody is there, and refuses it
	ReasonNoRoute        = "no route"        // no connection: nobody is there, or no way leads there
	ReasonTLS            = "tls"             // handshake, or an alert later on
	// the server's certificate: nobody trusted issued it, it is for another name, or its time is over or has not begun
	ReasonTLSIssuer  = "tls unknown issuer"
	ReasonTLSName    = "tls wrong name"
	ReasonTLSExpired = "tls expired"
	ReasonTimeout    = "timeout"    // any of the time-outs but that of the look-up
	ReasonReset      = "reset"      // the connection ended before a complete response head
	ReasonProtocol   = "protocol"   // not HTTP/1.x
	ReasonIncomplete = "incomplete" // the connection ended within the body
	ReasonCoding     = "coding"     // the body arrived whole, its content coding is broken
	ReasonAborted    = "aborted"    // the crawl was
	ReasonTooSlow    = "too slow"   // longer than one exchange may take
	// less than the least speed came, or others needed the place of a slow exchange
	ReasonSlow  = "slow"
	ReasonLease = "lease" // it took longer than a lease allows
	ReasonPanic = "panic" // a defect of ours

	// NamedByScript stands before the status 404 or 410 of what a script alone named: most such names are files, some are
	// words.
	NamedByScript = "named by script: "
)

// OfScript says for people how a URL ended that a script alone names.
func OfScript(o Outcome) string {
	switch o {
	case OutcomeFetched:
		return "found"
	case OutcomeGone:
		return "not there"
	}
	return string(o)
}

// ToHead is the end of the reason of an answer to HEAD that GET is to confirm.
const ToHead = " to HEAD"

// Reasons that name a rule begin with the part that has it.
const (
	RuleOfTraps = "trap:"
	RuleOfScope = "scope:"

	RuleOfBudget = "budget: " // the name of its flag follows

	// Rules of the scope by how a link was found: a later one may bring the URL in.
	RuleNoFollow = "scope:nofollow"
	RuleDepth    = "scope:depth"
)

// Asked sums up exchanges: those that have a record each.
type Asked struct {
	Exchanges int64 // robots.txt and redirects included
	Answers   int64 // of them, those that brought a response head
	Robots    int64 // of them, those for robots.txt
	Octets    int64 // received

	Kinds map[string]int64 // of the answers, by KindsOfAnswer
}

// Prefixes of the names of KindsOfAnswer.
const (
	PrefixStatus = "status: " // and the class of the status code
	PrefixType   = "type: "   // and the media type of a 2xx answer
)

// KindsOfAnswer are the names under which an answer is counted: its class of status, and if that is 2xx its media type as
// TypeWord has it.
func KindsOfAnswer(status int, mediaType string) []string {
	switch {
	case status < 100 || status > 599:
		return nil
	case status/100 == 2:
		return []string{PrefixStatus + "2xx", PrefixType + TypeWord(mediaType)}
	}
	return []string{PrefixStatus + string('0'+rune(status/100)) + "xx"}
}

// TypeWord is a media type for statistics: one of few words, whatever servers invent.
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

// Beyond returns what a has and b has not, nothing of it below zero.
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
