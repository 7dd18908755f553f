package robots

import (
	"fmt"
	"strings"
	"time"
)

// Terms say by which document a policy lives. The zero Terms are RFC 9309. They can be compared with ==.
//
// A State belongs to its terms: other terms take effect with the next fetch, except that no answer is ever used for
// longer than the terms of the moment permit.
type Terms struct {
	Standard Standard

	// Strict makes an older standard add refusals alone: a fetch has the sterner of the two outcomes, that of these terms
	// and that of the zero Terms, a life is the shorter, and a Rulebook judges by both documents. It is how to crawl by
	// an older standard, and break none of RFC 9309's rules.
	Strict bool
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
