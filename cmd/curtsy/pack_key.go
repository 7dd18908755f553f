package main

import (
	"crypto/ed25519"
	"errors"
	"io/fs"

	"curtsy/crawler/crawldir"
	"curtsy/storage/ledger/checkpoint"
)

// packKey is the key of the user's ledgers, with the notes that led to it, or nil when there is none: a crawl makes it,
// and what was crawled elsewhere is not signed by a key that its ledger does not have.
func packKey() (key ed25519.PrivateKey, rotations [][]byte, err error) {
	path, err := crawldir.LedgerKey.Path()
	if err != nil {
		return nil, nil, err
	}
	seed, err := crawldir.LedgerKey.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	signer, err := checkpoint.NewSigner(seed)
	if err != nil {
		return nil, nil, err
	}
	all, err := crawldir.Rotations(path, signer.Key())
	for _, r := range all {
		rotations = append(rotations, r.Note)
	}
	return ed25519.NewKeyFromSeed(seed), rotations, err
}
