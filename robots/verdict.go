package robots

// Verdict is the answer to whether a target may be fetched, and why. It says enough for anyone who holds the file
// to check it.
type Verdict struct {
	Allowed  bool
	Reason   Reason
	Line     int      // of the deciding rule in the file, from 1; 0 when no rule decided
	Rule     string   // the deciding rule as written, e.g. "Disallow: /private/"; empty when no rule decided
	Group    string   // the value of the user-agent line whose group decided, as written; empty when no group is concerned
	RunnerUp string   // the next best matching rule as written; empty when there is none
	Digest   [32]byte // SHA-256 of the file; zero when there is none
	Standard Standard
}

// Reason says in stable words what decided. The words stand in ledger and reports.
type Reason string

// The reasons.
const (
	// no group applies, or the group that does has no rules: allowed (RFC 9309 2.2.1, 2.2.2)
	NoRules      Reason = "no rules"
	NoMatch      Reason = "no match"          // no rule of the group matches: allowed (2.2.2)
	AllowRule    Reason = "allow rule"        // the most specific match is an Allow
	DisallowRule Reason = "disallow rule"     // the most specific match is a Disallow
	RobotsItself Reason = "robots.txt itself" // always allowed (2.2.2)
	Unavailable  Reason = "unavailable"       // the server says that there is no robots.txt for us: allowed (2.3.1.3)
	Unreachable  Reason = "unreachable"       // robots.txt could not be had: disallowed (2.3.1.4)
	Restricted   Reason = "restricted"        // robots.txt is forbidden, and so is all else (1996 3.1; Terms.Forbidden)
)
