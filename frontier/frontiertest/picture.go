package frontiertest

import (
	"crypto/sha256"

	"curtsy/frontier"
	"curtsy/frontier/model"
)

// picture takes a picture of the frontier of s.
func (s *stage) picture() model.Picture {
	s.Helper()
	seeds, err := frontier.SeedsOf(s.Context(), s.f)
	if err != nil {
		s.Fatalf("AllSeeds: %v", err)
	}
	return model.Take(s.stats(), s.hosts(100), seeds)
}

// digest returns the name of a blob.
func digest(body string) [sha256.Size]byte { return sha256.Sum256([]byte(body)) }
