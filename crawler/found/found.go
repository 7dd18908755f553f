// Package found describes how a URL was found, for frontier candidates and ledger lines. It is pure.
package found

import (
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// Kind returns the kind of a word, or zero.
func Kind(word storage.Kind) (k frontier.Kind) {
	_ = k.UnmarshalText([]byte(word)) // zero is the result
	return k
}

// As returns how a URL was found by a line of the ledger, for a URL whose text the frontier lacks. Its Kind is zero if unknown.
func As(u canon.URL, l storage.Line) frontier.Candidate {
	c := frontier.Candidate{URL: u, Kind: Kind(l.Kind), Via: l.Via, Depth: l.Depth, Seed: l.Seed, Tag: l.Tag}
	if c.Kind == frontier.KindEmbed || c.Kind == frontier.KindScript {
		c.Embeds = 1
	}
	return c
}

// Line begins the line of a candidate.
func Line(found frontier.Candidate) storage.Line {
	return storage.Line{
		Time: time.Now(), URL: found.URL.String(), Via: found.Via, Kind: storage.Kind(found.Kind.String()), Depth: found.Depth,
		Seed: found.Seed, Tag: found.Tag,
	}
}

// SeedChain reports whether c is a seed or a redirect of one.
func SeedChain(c frontier.Candidate) bool {
	return c.Kind == frontier.KindSeed || c.Kind == frontier.KindRedirect && c.Depth == 0 && c.Embeds == 0
}
