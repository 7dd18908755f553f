package storage

// The words that a line says of itself. docs/decisions.md has what each means, and a test holds the page to the tables
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
	DecisionOwner    Decision = "owner"    // an exchange for the proof that a host is the operator's own, or why there was none
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
	ByErrors       PaceBy = "errors"     // failures in a row, or a 429 or 503 without Retry-After
	ByRobots       PaceBy = "robots.txt" // that could not be had, and is asked for again later
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
