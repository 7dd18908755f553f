package robots

import (
	"fmt"
	"strings"
	"time"
)

// Terms say by which document, and with which of its liberties, a policy lives. The zero Terms are RFC 9309 with the
// defaults of package robots. They can be compared with ==.
//
// A State belongs to its terms: other terms take effect with the next fetch, except that no answer is ever used for
// longer than the terms of the moment permit.
type Terms struct {
	Standard Standard

	// Strict makes an older standard add refusals alone: a fetch has the sterner of the two outcomes, that of these terms
	// and that of the zero Terms, a life is the shorter, and a Rulebook judges by both documents. It is how to crawl by
	// an older standard, or with options, and break none of RFC 9309's rules.
	Strict bool

	RedirectOverflow Choice // a redirect too many; Default: RFC9309 Allow (2.3.1.2), the others Deny
	Forbidden        Choice // status 401 and 403; Default: Draft1996 Deny (3.1), the others Allow (RFC 9309 2.3.1.3)
	TooMany          Choice // status 429, 408, 425; Default: Deny. By the letter of RFC 9309 2.3.1.3 it is Allow
	StaleIfError     Choice // rules that expired in an outage; Default: Deny; UseStale keeps them for 30 days (2.4)
	After30Days      Choice // an outage of 30 days; Default: Deny; Allow or UseStale, if there are rules (2.3.1.4)
}

// Choice is what an option of Terms says. The zero Choice is Default, and so is one that an option has no use for.
type Choice uint8

// The choices.
const (
	Default  Choice = iota // what the standard says, or what package robots says where it leaves the choice
	Allow                  // everything is allowed
	Deny                   // nothing is allowed
	UseStale               // the last rules that were had stay in use
)

// String returns the choice's name: default, allow, deny or stale.
func (c Choice) String() string {
	if int(c) < len(choiceNames) {
		return choiceNames[c]
	}
	return fmt.Sprintf("choice %d", uint8(c))
}

var choiceNames = [...]string{"default", "allow", "deny", "stale"}

// outage is how long a robots.txt must have been undefined for RFC 9309 2.3.1.4 to see it in another light.
const outage = 30 * 24 * time.Hour

// withDefaults returns the terms with each Default replaced.
func (t Terms) withDefaults() Terms {
	old := t.Standard.inRecords()
	t.RedirectOverflow = choose(t.RedirectOverflow, old, Allow, Deny)
	t.Forbidden = choose(t.Forbidden, t.Standard == Draft1996, Allow, Deny)
	t.TooMany = choose(t.TooMany, true, Allow, Deny)
	t.StaleIfError = choose(t.StaleIfError, true, UseStale, Deny)
	if t.After30Days != UseStale {
		t.After30Days = choose(t.After30Days, true, Allow, Deny)
	}
	if t.Strict {
		t.TooMany, t.StaleIfError, t.After30Days = Deny, Deny, Deny
	}
	return t
}

// choose returns c if it is one of the two, or else deny where that is the default, and permit where it is not.
func choose(c Choice, denies bool, permit, deny Choice) Choice {
	switch {
	case c == permit || c == deny:
		return c
	case denies:
		return deny
	}
	return permit
}

// maxLife returns how long an answer may be used: a day (RFC 9309 2.4), or a week (1996 3.4). The 1994 document is
// silent, and has the day.
func (t Terms) maxLife() time.Duration {
	if t.Standard == Draft1996 && !t.Strict {
		return 7 * maxLife
	}
	return maxLife
}

// maxHops returns how many redirects in a row are followed. RFC 9309 2.3.1.2 asks for five at least; 1996 3.1 for as
// many as it takes, which must end somewhere.
func (t Terms) maxHops() int {
	if t.Standard == Draft1996 {
		return maxHops
	}
	return 5
}

// MaxBody is how many octets of a decoded body are parsed: 500 KiB, the least that RFC 9309 2.5 permits as a limit.
const MaxBody = 500 * 1024

// Standard selects the document by which a robots.txt is read. The zero Standard is RFC9309, and any value that is
// not one of the constants is read as that.
type Standard uint8

// The standards. The numbers are stable on disk.
const (
	RFC9309   Standard = 0 // Robots Exclusion Protocol, September 2022
	Draft1996 Standard = 1 // A Method for Web Robots Control, draft-koster-robots-00, 4 December 1996
	Std1994   Standard = 2 // A Standard for Robot Exclusion, 30 June 1994
)

// Standards returns all standards, the newest first.
func Standards() []Standard { return []Standard{RFC9309, Draft1996, Std1994} }

// String returns the name that configuration, ledger and reports use.
func (s Standard) String() string {
	switch s {
	case RFC9309:
		return "rfc9309"
	case Draft1996:
		return "draft1996"
	case Std1994:
		return "std1994"
	}
	return fmt.Sprintf("standard %d", uint8(s))
}

// ParseStandard returns the standard of that name, as String gives it.
func ParseStandard(name string) (Standard, error) {
	var names []string
	for _, s := range Standards() {
		if s.String() == name {
			return s, nil
		}
		names = append(names, s.String())
	}
	return RFC9309, fmt.Errorf("robots: no standard %q; there are %s", name, strings.Join(names, ", "))
}

// inRecords reports whether blank lines divide the file into records of which one binds, as before RFC 9309, and no
// octet of a path is special.
func (s Standard) inRecords() bool { return s == Draft1996 || s == Std1994 }

// Options say for whom, and by which standard, a robots.txt is read.
type Options struct {
	// Token is the crawler's product token (RFC 9309 2.2.1). One that ValidToken refuses names no group, so that
	// only the groups of "*" bind.
	Token    string
	Standard Standard
}

// ValidToken returns nil if token is a product token: one or more of A-Z, a-z, "_" and "-" (RFC 9309 2.2.1).
func ValidToken(token string) error {
	if token == "" {
		return fmt.Errorf("robots: the product token is empty; it needs at least one letter, \"_\" or \"-\"")
	}
	if n := len(leadingToken(token)); n < len(token) {
		return fmt.Errorf("robots: product token %q: byte %d is not a letter, _ or -", token, n+1)
	}
	return nil
}

// leadingToken returns the product token that a user-agent line's value begins with. The rest, a version or
// a comment ("Name/2.1", "Name 2.1", "Name*"), is not in the grammar and is read past.
func leadingToken(value string) string {
	for i := 0; i < len(value); i++ {
		if octets[value[i]]&inToken == 0 {
			return value[:i]
		}
	}
	return value
}
