package evidencecmd

import (
	"crypto/ed25519"
	"errors"
	"io/fs"

	"curtsy/crawler/crawldir"
)

// packKey is the key of the user's ledgers, or nil when there is none: a crawl makes it, and what was crawled elsewhere is
// not signed by a key that its ledger does not have.
func packKey() (ed25519.PrivateKey, error) {
	path, err := crawldir.LedgerKey.Path()
	if err != nil {
		return nil, err
	}
	seed, err := crawldir.LedgerKey.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}
