package export

import (
	"curtsy/crawler/extract"
	"curtsy/crawler/found"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

// linksFound is how a URL was mentioned.
type linksFound struct {
	By       canon.URL    // the document
	Kind     storage.Kind // how that was found
	Depth    int
	Embed    bool
	Redirect bool
	Rels     extract.Rels // what the mention says
	NoFollow bool         // what the document says
}

// judge says whether the scope of a crawl takes a mention.
type judge struct {
	scope *scope.Scope
	rels  extract.Rels
	chain map[string]bool // keys of seeds, and of what they redirect to
}

// newJudge judges by a scope, and by the words of rel that links may have to be followed.
func newJudge(c scope.Config, rels extract.Rels) (*judge, error) {
	s, err := scope.New(c, nil)
	if err != nil {
		return nil, err
	}
	return &judge{scope: s, rels: rels, chain: map[string]bool{}}, nil
}

// line takes in a line of the ledger. Lines come in its order. Seeds, and where their redirects end, widen the scope.
func (j *judge) line(u canon.URL, l *storage.Line) {
	switch l.Kind {
	case storage.KindSeed:
		if !j.chain[u.Key()] {
			j.chain[u.Key()] = true
			j.scope.Extend(u)
		}
	case storage.KindRedirect:
		via, err := canon.Parse(l.Via)
		if err != nil || l.Depth != 0 || !j.chain[via.Key()] {
			return
		}
		j.chain[u.Key()] = true
		if l.Outcome == storage.OutcomeFetched {
			j.scope.Extend(u)
		}
	}
}

// verdict judges a mention of u.
func (j *judge) verdict(u canon.URL, m linksFound) scope.Verdict {
	source := found.As(m.By, storage.Line{Kind: m.Kind, Depth: m.Depth})
	c := scope.Candidate{URL: u, Depth: m.Depth + 1, NoFollow: m.NoFollow || m.Rels&^j.rels != 0}
	switch {
	case m.Redirect:
		c.Redirect, c.Depth, c.Embeds = true, m.Depth, source.Embeds
		c.Seed = found.SeedChain(frontier.Candidate{Kind: frontier.KindRedirect, Depth: m.Depth, Embeds: c.Embeds}) && j.chain[m.By.Key()]
		c.Embed = c.Embeds > 0
	case m.Embed:
		c.Depth, c.Embeds, c.Embed = m.Depth, source.Embeds+1, true
		for _, step := range []canon.URL{m.By, u} {
			if !j.scope.Covers(step) {
				c.Away++
			}
		}
	}
	return j.scope.Judge(c)
}
