package crawltest

import (
	"time"
)

// Rules is what a crawl is held to. The zero value holds it to everything but a pace of its own.
type Rules struct {
	// Token is the crawler's product token. Zero means "curtsy". Robots groups that name curtsy bind, too.
	Token string

	// Pace is the least time from the end of one exchange with an authority to the start of the next. Zero means none;
	// a Crawl-delay holds all the same.
	Pace time.Duration

	// Width is how many exchanges may be in flight at one authority. Zero means 1.
	Width int

	// Seeds are what the crawl began with, in the web's names. None means Web.Seeds.
	Seeds []string

	// Repeats is how many pages may be fetched again although they were answered: what was in flight when a crawl was
	// killed. Zero means none.
	Repeats int

	// Keys is the key directory of the crawler, by which Signatures judges. Nil is none: then no signature is verified.
	Keys *Directory

	// Partial says that the crawl was not to reach everything, because a budget or the test cut it short: what is
	// missing is not held against it.
	Partial bool
}

// Rule is the name of a rule that the referee judges.
type Rule string

// The rules, in the order of a Report.
const (
	// RobotsFirst: nothing of an authority is asked for before its robots.txt is there, redirects followed
	// (RFC 9309 2.3).
	RobotsFirst Rule = "robots.txt first"

	// RobotsObeyed: nothing is asked for that the robots.txt last served disallows (RFC 9309 2.2).
	RobotsObeyed Rule = "robots.txt obeyed"

	// RobotsDown: while robots.txt cannot be had, because of 5xx, 429, 408, 425 or an answer broken off, nothing else
	// is asked for (RFC 9309 2.3.1.4).
	RobotsDown Rule = "robots.txt unreachable"

	// RobotsFresh: no robots.txt is used for more than 24 hours (RFC 9309 2.4).
	RobotsFresh Rule = "robots.txt fresh"

	// Pace: Rules.Pace is kept between exchanges with an authority, robots.txt included.
	Pace Rule = "pace"

	// CrawlDelay: so is the Crawl-delay of the robots.txt last served.
	CrawlDelay Rule = "Crawl-delay"

	// InFlight: no more than Rules.Width exchanges with an authority at once.
	InFlight Rule = "exchanges in flight"

	// RetryAfter: after Retry-After on 429, 503, 3xx, or on a robots.txt that cannot be had, nothing is asked of the
	// host before that time is over (RFC 9110 10.2.3, RFC 6585 4). A value that cannot be read, or of more than a
	// year, asks for 24 hours.
	RetryAfter Rule = "Retry-After"

	// Identity: User-Agent carries the product token (RFC 9309 2.2.1) and is the same in all requests.
	Identity Rule = "identity"

	// Signatures: those of Web Bot Auth, if requests carry any, verify by Rules.Keys: they are right, cover the authority
	// that is asked, and are neither over nor of the future (draft-ietf-webbotauth-httpsig-protocol on RFC 9421).
	Signatures Rule = "signatures"

	// Manners: GET and HEAD only, no cookies, no credentials.
	Manners Rule = "manners"

	// NoFollow: nothing is asked for that only links with nofollow lead to.
	NoFollow Rule = "nofollow"

	// Traps: no more of a trap than it forgives.
	Traps Rule = "traps"

	// Scope: nothing is asked for that no link in scope leads to.
	Scope Rule = "scope"

	// Coverage: all is fetched that can be reached and is allowed.
	Coverage Rule = "coverage"

	// Once: nothing is fetched twice, but for retries after 429, 408, 425, 5xx and broken answers.
	Once Rule = "fetched once"
)

// Hostile names the row of a site that misbehaves.
func Hostile(what string) Rule { return Rule("hostile: " + what) }
