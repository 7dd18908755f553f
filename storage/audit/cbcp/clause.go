package cbcp

import "curtsy/storage/audit"

// Draft names the document.
const Draft = "draft-illyes-webbotauth-cbcp"

// Texts are the versions of it that the clauses are taken from.
const Texts = "-00 (21 April 2026) and the editors' copy of 5 October 2026; -01 was not at hand"

// Level is how strongly a clause asks.
type Level string

// The levels, from the lowest. A text that asks without the capitals of BCP 14 asks.
const (
	Absent Level = ""
	Asks   Level = "asks"
	Should Level = "SHOULD"
	Must   Level = "MUST"
)

// State says how a crawl stands to a clause.
type State string

// The states.
const (
	Kept        State = "kept"
	Broken      State = "broken"
	NotProvable State = "not provable"
)

// Clause is one thing that the draft asks for.
type Clause struct {
	ID      string `json:"id"`      // stable: scripts may rely on it
	Section string `json:"section"` // of the draft
	First   Level  `json:"level_00"`
	Copy    Level  `json:"level_copy"` // in the editors' copy
	Asks    string `json:"asks"`       // in words of our own

	How   string `json:"-"` // it is checked, as docs/reference/cbcp.md says
	check func(f *facts, r *audit.Result) finds
}

// Level is the higher one of both texts.
func (c Clause) Level() Level {
	for _, l := range []Level{Must, Should} {
		if c.First == l || c.Copy == l {
			return l
		}
	}
	return Asks
}

// finds is what a check says.
type finds struct {
	state    State
	evidence string
	examples []Example
}

func kept(evidence string) finds       { return finds{state: Kept, evidence: evidence} }
func unprovable(evidence string) finds { return finds{state: NotProvable, evidence: evidence} }

func broken(evidence string, examples ...Example) finds {
	return finds{state: Broken, evidence: evidence, examples: examples}
}

// never is a check of what no archive can show.
func never(why string) func(*facts, *audit.Result) finds {
	return func(*facts, *audit.Result) finds { return unprovable(why) }
}

// Clauses are all clauses, in the order of the draft.
func Clauses() []Clause {
	return []Clause{
		{"rep", "2.1", Must, Should, "support and respect the Robots Exclusion Protocol",
			"the audit's codes robots-missing, robots-expired, robots-unreachable and disallowed",
			checkRobots},
		{"x-robots-tag", "2.1", Asks, Asks, "respect X-Robots-Tag in answers",
			"heads of answers: with noarchive, the body is not in the archive; with nofollow or none, no link of " +
				"that page was asked for, as metadata (via) tells", checkTags},
		{"identifiable", "2.2, 2.6", Must, Should, "identify the crawler in the User-Agent",
			"the audit's code user-agent", checkIdentifiable},
		{"unique-name", "2.2", Must, Must, "have identifiers in the User-Agent that no other crawler has",
			"each User-Agent has a product token that is not a browser's, not that of a well-known crawler with " +
				"another domain, and not a common library's or tool's without an address beside it", checkUnique},
		{"description-url", "2.2", Should, Should, "lead to the crawler's description by a URL in the User-Agent",
			"each User-Agent has an http or https URL", checkDescription},
		{"owner-purpose", "2.2", Should, Should, "name owner and purpose as far as possible",
			"the names are shown; whether they are clear is for people to judge", checkOwner},
		{"back-out", "2.3", Must, Should, "back out when the server fails (RFC 9110 15.6)",
			"the audit's code retry-after; after three answers of 429 or 5xx in a row the pause is longer than the " +
				"host's usual one by a fifth, or a minute, or the crawl stops", checkBackOut},
		{"response-time", "2.3", Asks, Asks, "slow down when answers take longer",
			"metadata of exchanges whose pause the response time decided", checkResponseTime},
		{"visit-log", "2.3", Should, Should, "log URLs, requests and statuses",
			"each answer in the archive has its request; a ledger agrees with it", checkLog},
		{"off-hours", "2.3", Should, Should, "crawl when a site has few visitors, if possible",
			"exchanges by hour (UTC) are shown; the visitors of a site are not in an archive", checkHours},
		{"one-at-a-time", "2.3", Should, Should, "do not send several requests for a resource at once",
			"the audit's code in-flight", checkInFlight},
		{"speed", "2.3", Should, Should, "limit the speed, by the limits that robots.txt sets",
			"the audit's codes gap and address-pace", checkSpeed},
		{"re-crawl", "2.3", Should, Should, "do not crawl a resource again too often",
			"no URL with a usable answer is asked for more than twice within the next 24 hours", checkAgain},
		{"loops", "2.3", Should, Should, "bound depth and requests per resource against loops",
			"no URL is asked for more than 20 times; the depth is as metadata tells", checkLoops},
		{"access", "2.3", Should, Should, "do not get around logins, CAPTCHAs and paywalls",
			"heads of requests: no Authorization and no Proxy-Authorization", checkAccess},
		{"get", "2.3", Should, Should, "use GET unless the publisher agreed to other methods",
			"the audit's code method", checkMethod},
		{"scripts", "2.3", Asks, Asks, "avoid the load of running client-side code",
			"an archive does not tell why a URL was asked for",
			never("an archive does not tell whether a script or a link made a request")},
		{"caching", "2.4", Must, Should, "support caching directives (RFC 9111)",
			"heads of messages: a URL with a stored answer is asked for again only by a conditional request, or " +
				"when that answer is stale and had no validator; robots.txt has rules of its own (rep)", checkCaching},
		{"ranges", "2, 2.5", Must, Should, "publish the address ranges of the crawler in JAFAR format",
			"a copy (`--bot-ranges`) can be read, and names a range", checkRanges},
		{"ranges-current", "2.5", Should, Should, "keep the ranges up to date",
			"the copy was made seven days before the crawl at most", checkRangesCurrent},
		{"ranges-linked", "2.5", Must, Should, "link the ranges from the crawler's page as client-ranges",
			"a copy of the page (`--bot-page`) has that link; a Link field would not be in it", checkRangesLink},
		{"ranges-found", "2.5", Should, Should, "give that link in a Link field or a link element", "as ranges-linked",
			checkRangesLink},
		{"page", "2", Must, Should, "have a page on blocking, rendering and use of data",
			"a copy of the page that does not speak of robots.txt breaks it; the rest is for people to judge", checkPage},
		{"data-use", "2.6", Must, Should, "explain how the data is used", "people must read the page", checkProse},
		{"contact", "2.6", Should, Should, "give the owner's contact address on that page",
			"the copy of the page has a mailbox", checkContact},
		{"example", "2.6", Should, Should, "show a robots.txt that blocks the crawler",
			"the copy of the page has a line User-agent, and a line Disallow behind it", checkExample},
		{"verifying", "2.6", Should, Should, "offer a way to verify a robots.txt", "people must read the page", checkProse},
		{"exemption", "2.6", Should, Should, "give reasons on that page for practices not followed",
			"people must read the page", checkProse},
		{"reachable", "2.6", Asks, Asks, "keep page and ranges available and fast", "no archive shows it",
			never("an archive does not show how page and ranges are served")},
		{"https", "4", Absent, Should, "serve page and ranges by https",
			"the URLs in User-Agents have the scheme https", checkHTTPS},
	}
}
