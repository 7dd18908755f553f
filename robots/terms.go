package robots

import (
	"fmt"
	"strings"
	"time"
)

// Terms select a document, and its liberties, for a policy. The zero Terms are RFC 9309 with the defaults of package
// robots. They can be compared with ==.
//
// Other terms take effect with the next fetch of a State, except that a shorter lifetime applies at once.
type Terms struct {
	Standard Standard

	// Strict makes an older standard only add refusals: a fetch has the sterner of the two outcomes, that of these
	// terms and that of the zero Terms, a life is the shorter, and a Rulebook judges by both documents. So a crawl by
	// an older standard, or with options, breaks none of RFC 9309's rules.
	Strict bool

	RedirectOverflow Choice // too many redirects; Default: RFC9309 Allow (2.3.1.2), the others Deny
	Forbidden        Choice // status 401 and 403; Default: Draft1996 Deny (3.1), the others Allow (RFC 9309 2.3.1.3)
	TooMany          Choice // status 429, 408, 425; Default: Deny. By the letter of RFC 9309 2.3.1.3 it is Allow
	StaleIfError     Choice // rules that expired in an outage; Default: Deny; UseStale keeps them for 30 days (2.4)
	After30Days      Choice // an outage of 30 days; Default: Deny; Allow or UseStale, if there are rules (2.3.1.4)
}

// Choice is the value of an option of Terms. The zero Choice is Default, and an option treats an unsuitable one as
// Default.
type Choice uint8

// The choices.
const (
	Default  Choice = iota // by the standard, or by package robots where it leaves the choice
	Allow                  // everything is allowed
	Deny                   // nothing is allowed
	UseStale               // the last known rules stay in use
)

// String returns the choice's name: default, allow, deny or stale.
func (c Choice) String() string {
	if int(c) < len(choiceNames) {
		return choiceNames[c]
	}
	return fmt.Sprintf("choice %d", uint8(c))
}

var choiceNames = [...]string{"default", "allow", "deny", "stale"}

const outage = 30 * 24 * time.Hour // after which RFC 9309 2.3.1.4 permits other rules

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

// choose returns c if it is one of the two, or else the default.
func choose(c Choice, denies bool, permit, deny Choice) Choice {
	switch {
	case c == permit || c == deny:
		return c
	case denies:
		return deny
	}
	return permit
}

// maxLife returns how long an answer may be used: a day (RFC 9309 2.4), or a week (1996 3.4). The 1994 document sets no
// limit, and has the day.
func (t Terms) maxLife() time.Duration {
	if t.Standard == Draft1996 && !t.Strict {
		return 7 * maxLife
	}
	return maxLife
}

// maxHops returns how many redirects in a row are followed. RFC 9309 2.3.1.2 requires at least five; 1996 3.1 any
// number, which must be bounded.
func (t Terms) maxHops() int {
	if t.Standard == Draft1996 {
		return maxHops
	}
	return 5
}

// MaxBody is how many bytes of a decoded body are parsed: 500 KiB, the lowest limit that RFC 9309 2.5 permits.
const MaxBody = 500 * 1024

// Standard selects the document by which a robots.txt is read. The zero Standard is RFC9309, and unknown values count
// as that.
type Standard uint8

// The standards. The numbers are stable on disk.
const (
	RFC9309   Standard = 0 // Robots Exclusion Protocol, September 2022
	Draft1996 Standard = 1 // A Method for Web Robots Control, draft-koster-robots-00, 4 December 1996
	Std1994   Standard = 2 // A Standard for Robot Exclusion, 30 June 1994
)

// Standards returns all standards, the newest first.
func Standards() []Standard { return []Standard{RFC9309, Draft1996, Std1994} }

// String returns the name in configuration, ledger and reports.
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

// ParseStandard returns the standard of a name as in String.
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

// inRecords reports whether blank lines divide the file into records, one of which binds, as before RFC 9309, and no
// byte of a path is special.
func (s Standard) inRecords() bool { return s == Draft1996 || s == Std1994 }

// Options select the crawler and the standard for a robots.txt.
type Options struct {
	// Token is the crawler's product token (RFC 9309 2.2.1). An invalid one names no group, so that only the groups of
	// "*" bind.
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

// leadingToken returns the product token at the start of a user-agent line's value. The rest, a version or a comment
// ("Name/2.1", "Name 2.1", "Name*"), is not in the grammar and is ignored.
func leadingToken(value string) string {
	for i := 0; i < len(value); i++ {
		if octets[value[i]]&inToken == 0 {
			return value[:i]
		}
	}
	return value
}
