package frontier

import (
	"fmt"
	"slices"
)

// The words of the closed lists, by number. Ledger, exports, reports and metrics use the same.
var (
	kindWords      = []string{"", "seed", "link", "redirect", "embed", "sitemap", "map", "script"}
	outcomeWords   = []string{"", "fetched", "redirected", "disallowed", "failed", "gone", "dropped", "held"}
	conditionWords = []string{"open", "parked", "retired", "refused"}
	actWords       = []string{"", "park", "drop", "resume", "rest"}
)

// OutcomeWords returns the words of all outcomes.
func OutcomeWords() []string { return slices.Clone(outcomeWords[1:]) }

// String returns the word of k, or nothing for zero.
func (k Kind) String() string { return word(kindWords, k, "kind") }

// String returns the word of o.
func (o Outcome) String() string {
	if o == 0 {
		return "unknown outcome"
	}
	return word(outcomeWords, o, "outcome")
}

// String returns the word of c.
func (c Condition) String() string { return word(conditionWords, c, "condition") }

// String returns the word of a, or nothing for zero.
func (a Act) String() string { return word(actWords, a, "act") }

// MarshalText returns the word of k. Zero and unknown numbers are errors.
func (k Kind) MarshalText() ([]byte, error) { return marshal(kindWords, k, "kind") }

// MarshalText returns the word of o. Zero and unknown numbers are errors.
func (o Outcome) MarshalText() ([]byte, error) { return marshal(outcomeWords, o, "outcome") }

// MarshalText returns the word of c. Unknown numbers are errors.
func (c Condition) MarshalText() ([]byte, error) { return marshal(conditionWords, c, "condition") }

// MarshalText returns the word of a. Zero and unknown numbers are errors.
func (a Act) MarshalText() ([]byte, error) { return marshal(actWords, a, "act") }

// UnmarshalText reads what MarshalText writes.
func (k *Kind) UnmarshalText(b []byte) error { return unmarshal(kindWords, b, k, "kind") }

// UnmarshalText reads what MarshalText writes.
func (o *Outcome) UnmarshalText(b []byte) error { return unmarshal(outcomeWords, b, o, "outcome") }

// UnmarshalText reads what MarshalText writes.
func (c *Condition) UnmarshalText(b []byte) error {
	return unmarshal(conditionWords, b, c, "condition")
}

// UnmarshalText reads what MarshalText writes.
func (a *Act) UnmarshalText(b []byte) error { return unmarshal(actWords, b, a, "act") }

func word[T ~uint8](words []string, n T, what string) string {
	if int(n) >= len(words) {
		return "unknown " + what
	}
	return words[n]
}

func marshal[T ~uint8](words []string, n T, what string) ([]byte, error) {
	if int(n) >= len(words) || words[n] == "" {
		return nil, fmt.Errorf("frontier: no %s %d", what, uint8(n))
	}
	return []byte(words[n]), nil
}

func unmarshal[T ~uint8](words []string, b []byte, n *T, what string) error {
	i := slices.Index(words, string(b))
	if i < 0 || len(b) == 0 {
		return fmt.Errorf("no %s %.40q", what, b)
	}
	*n = T(i)
	return nil
}
