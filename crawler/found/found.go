// Package found describes how a URL was found, for frontier candidates and ledger lines. It is pure.
package found

import (
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// Kind is the kind of a word; zero of one that there is not.
func Kind(word storage.Kind) (k frontier.Kind) {
	_ = k.UnmarshalText([]byte(word)) // zero is the answer
	return k
}

// As is how a URL was found, as a line of the ledger tells it: for a Question about one that the frontier keeps no
// text of. Its Kind is zero when the line does not tell.
func As(u canon.URL, l storage.Line) frontier.Candidate {
	c := frontier.Candidate{URL: u, Kind: Kind(l.Kind), Via: l.Via, Depth: l.Depth, Seed: l.Seed, Tag: l.Tag}
	if c.Kind == frontier.KindEmbed || c.Kind == frontier.KindScript {
		c.Embeds = 1
	}
	return c
}

// Line is the beginning of a line that needs no more than the candidate.
func Line(found frontier.Candidate) storage.Line {
	return storage.Line{
		Time: time.Now(), URL: found.URL.String(), Via: found.Via, Kind: storage.Kind(found.Kind.String()), Depth: found.Depth,
		Seed: found.Seed, Tag: found.Tag,
	}
}

// SeedChain reports whether c is a seed or what a seed redirects to.
func SeedChain(c frontier.Candidate) bool {
	return c.Kind == frontier.KindSeed || c.Kind == frontier.KindRedirect && c.Depth == 0 && c.Embeds == 0
}
