package export

import (
	"curtsy/crawler/extract"
	"curtsy/crawler/found"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

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

// verdict judges a mention of u by a document.
func (j *judge) verdict(u, by canon.URL, h *head, m *mention) scope.Verdict {
	source := found.As(by, storage.Line{Kind: h.Kind, Depth: h.Depth})
	c := scope.Candidate{URL: u, Depth: h.Depth + 1, NoFollow: h.NoFollow || m.Rels&^j.rels != 0}
	switch m.Kind {
	case kindRedirect:
		c.Redirect, c.Depth, c.Embeds, c.NoFollow = true, h.Depth, source.Embeds, m.Rels&^j.rels != 0
		c.Seed = found.SeedChain(frontier.Candidate{Kind: frontier.KindRedirect, Depth: h.Depth, Embeds: c.Embeds}) && j.chain[by.Key()]
		c.Embed = c.Embeds > 0
	case kindEmbed:
		c.Depth, c.Embeds, c.Embed = h.Depth, source.Embeds+1, true
		for _, step := range []canon.URL{by, u} {
			if !j.scope.Covers(step) {
				c.Away++
			}
		}
	}
	return j.scope.Judge(c)
}
