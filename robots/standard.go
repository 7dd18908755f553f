package robots

import "fmt"

// MaxBody is how many octets of a decoded body are parsed: 500 KiB, the least that RFC 9309 2.5 permits as a limit.
const MaxBody = 500 * 1024

// Standard selects the document by which a robots.txt is read. The zero Standard is RFC9309, and any value that is
// not one of the constants is read as that.
type Standard uint8

// The standards.
const (
	RFC9309 Standard = 0 // Robots Exclusion Protocol, September 2022
)

// String returns the name that configuration, ledger and reports use.
func (s Standard) String() string {
	if s == RFC9309 {
		return "rfc9309"
	}
	return fmt.Sprintf("standard %d", uint8(s))
}

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
		return fmt.Errorf("robots: product token %q: octet %d is none of A-Z a-z _ -", token, n+1)
	}
	return nil
}

// leadingToken returns the product token that a user-agent line's value begins with. What follows it, a version or
// a comment ("Name/2.1", "Name 2.1", "Name*"), is not in the grammar and is read past.
func leadingToken(value string) string {
	for i := 0; i < len(value); i++ {
		if octets[value[i]]&inToken == 0 {
			return value[:i]
		}
	}
	return value
}
