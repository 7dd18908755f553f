package frontier

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"curtsy/frontier/canon"
)

// Kind says how a URL was discovered. The numbers are stable on disk.
type Kind uint8

// The kinds.
const (
	KindSeed     Kind = 1 // given by the user
	KindLink     Kind = 2 // a navigational link of a page
	KindRedirect Kind = 3 // the target of a redirect
	KindEmbed    Kind = 4 // a requisite of a page: image, style, script, font, media, frame
	KindSitemap  Kind = 5 // listed in a sitemap
	KindMap      Kind = 6 // a sitemap or an index of them
	KindScript   Kind = 7 // what a script names: it looks like a file, and need not be one
)

// Candidate is a discovered URL.
type Candidate struct {
	URL    canon.URL
	Kind   Kind
	Via    string // fetch URL of the page or redirect that named it; empty for a seed
	Depth  int    // links from the seed, redirects and requisites not counted
	Hops   int    // redirects in a row that led here
	Embeds int    // requisite steps in a row that led here
	Away   int    // those of them that led to what is off the scope
	Seed   string // fetch URL of the seed it descends from; a seed's own
	Tag    string // the seed's tag

	// Refused, if not empty, is the reason of a timeless refusal (out of scope by scheme or pattern, a trap's
	// shape). The candidate enters the seen-set and is counted as Dropped with this reason; it never becomes a task.
	Refused string
}

// Seed is a URL that the crawl began with, or (From not empty) one that a seed redirected to, which extends the scope.
type Seed struct {
	URL  canon.URL
	Tag  string
	From string // fetch URL of the seed that led here; empty for a seed
}

// Added says what became of candidates.
type Added struct {
	New     int // accepted as pending
	Refused int // entered as Dropped: Candidate.Refused was set, or an operator has dropped the host
	Known   int // seen before
	Capped  int // over a cap; not marked seen

	// Barred are, of Refused, those of hosts that an operator has dropped: their places among the candidates, in order.
	Barred []int
}

// Fingerprint identifies a canonical key within one crawl: 64 bits of a keyed digest, so that nobody can prepare
// two URLs that collide. See Print.
type Fingerprint uint64

// Print returns the fingerprint of a key: the first eight octets, big-endian, of HMAC-SHA-256(secret, key). Zero is
// never returned (it is mapped to 1), so that a table may use it for "empty". With n URLs the chance that any two
// collide is about n²/2⁶⁵: 3 in a million at ten million URLs.
func Print(secret []byte, u canon.URL) Fingerprint {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(u.Key()))
	var sum [sha256.Size]byte
	p := Fingerprint(binary.BigEndian.Uint64(m.Sum(sum[:0])))
	if p == 0 {
		return 1
	}
	return p
}

// SeedsOf returns all that AllSeeds yields.
func SeedsOf(ctx context.Context, f interface {
	AllSeeds(ctx context.Context) iter.Seq2[Seed, error]
}) (seeds []Seed, err error) {
	for s, err := range f.AllSeeds(ctx) {
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, s)
	}
	return seeds, nil
}

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
