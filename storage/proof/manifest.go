package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"curtsy/storage"
	"curtsy/storage/ledger/hostmap"
)

// Format is what a manifest calls the format of its bundle. A change that verifiers cannot pass over makes it another.
const Format = "curtsy-proof/1"

// pageVersion is the version of the page's words and looks: Verify compares only pages of its own version.
const pageVersion = 3

// The members of a bundle.
const (
	manifestName   = "manifest.json"
	checkpointName = "checkpoint"
	timestampName  = "timestamp.tsr" // in bundles of earlier versions; not read
	linesName      = "lines.jsonl"
	marksName      = "marks.jsonl"
	headsName      = "heads.jsonl"
	proofName      = "proof.json"
	pageName       = "index.html"
	robotsFolder   = "robots/"
	robotsEnd      = ".txt"
)

// manifest is manifest.json: what the bundle is of, and every other member with its digest.
type manifest struct {
	Format   string   `json:"format"`
	Page     int      `json:"page"`
	Software string   `json:"software,omitempty"` // that made it: name/version
	Host     string   `json:"host"`
	Files    []member `json:"files"`
}

type member struct {
	Name   string `json:"name"`
	Octets int64  `json:"octets"`
	SHA256 string `json:"sha256"`
}

// proofJSON is proof.json. Hashes are in hexadecimal digits.
type proofJSON struct {
	Nodes []hostmap.Hash `json:"nodes"` // tree.Proof of all marks and lines
	Map   mapJSON        `json:"map"`
}

// mapJSON is a proof in the completeness map: of Entry, or without it, that the host has none.
type mapJSON struct {
	Siblings []hostmap.Hash `json:"siblings"`
	Entry    *entryJSON     `json:"entry,omitempty"`
	Other    *otherJSON     `json:"other,omitempty"`
}

type entryJSON struct {
	First  int64        `json:"first"`
	Count  int64        `json:"count"`
	Digest hostmap.Hash `json:"digest"`
}

type otherJSON struct {
	Key   hostmap.Hash `json:"key"`
	Value hostmap.Hash `json:"value"`
}

// What a bundle may have. A file of which more is claimed is not read.
const (
	maxRows     = 1 << 21  // lines and marks, each
	maxRow      = 9 << 20  // bytes of one: a ledger's line has at most 8 MiB
	maxManifest = 4 << 20  // bytes
	maxProof    = 1 << 30  // bytes; its nodes are counted before they are kept
	maxNote     = 2 << 20  // bytes; Parse takes less
	maxPage     = 4 << 20  // bytes
	maxRobots   = 4 << 20  // bytes of a robots.txt
	maxTexts    = 10_000   // robots.txt files
	maxAllTexts = 64 << 20 // bytes of them all
	maxUnfold   = 120      // how many times its own size a bundle may unfold to: lines, which hold digests, stay below 20
	slack       = 1 << 20  // bytes that are not counted for that
	nodeSize    = 70       // bytes of a node in proof.json
)

var errPlain = errors.New("it is not JSON that all readers take for the same")

// plain refuses JSON of which one reader makes this and another one that, as storage.CheckForm does. White space between its
// parts is allowed.
func plain(b []byte) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, b); err != nil {
		return errPlain
	}
	if err := storage.CheckForm(compact.Bytes()); err != nil {
		return fmt.Errorf("%w: %w", errPlain, err)
	}
	return nil
}
