package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	Nodes []string `json:"nodes"` // tree.Proof of all marks and lines
	Map   mapJSON  `json:"map"`
}

// mapJSON is a proof in the completeness map: of Entry, or without it, that the host has none.
type mapJSON struct {
	Siblings []string   `json:"siblings"`
	Entry    *entryJSON `json:"entry,omitempty"`
	Other    *otherJSON `json:"other,omitempty"`
}

type entryJSON struct {
	First  int64  `json:"first"`
	Count  int64  `json:"count"`
	Digest string `json:"digest"`
}

type otherJSON struct {
	Key   string `json:"key"`
	Value string `json:"value"`
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

// maxDepth is how deep JSON of a bundle may be nested: readers of other languages give up at some hundreds.
const maxDepth = 64

var errPlain = errors.New("it is not JSON that all readers take for the same")

// plain refuses JSON of which one reader makes this and another one that: an object that has a name twice, of which the
// first or the last counts, or a name with other letters than the format has, which package encoding/json takes for the
// same as one in lower case.
func plain(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var within []map[string]bool // the names of each object around; nil for an array
	name := false                // the next token may be a name
	for {
		t, err := d.Token()
		if err != nil {
			return errPlain
		}
		switch s, is := t.(string); {
		case is && name:
			names := within[len(within)-1]
			if names[s] || !isName(s) {
				return fmt.Errorf("%w: the name %.80q is twice there, or odd", errPlain, s)
			}
			names[s], name = true, false
			continue
		case t == json.Delim('{'):
			within = append(within, map[string]bool{})
		case t == json.Delim('['):
			within = append(within, nil)
		case t == json.Delim('}'), t == json.Delim(']'):
			within = within[:len(within)-1]
		}
		if len(within) > maxDepth {
			return fmt.Errorf("%w: it is nested more than %d deep", errPlain, maxDepth)
		}
		if len(within) == 0 {
			break
		}
		name = within[len(within)-1] != nil
	}
	if len(bytes.TrimLeft(b[d.InputOffset():], " \t\r\n")) > 0 {
		return errPlain
	}
	return nil
}

// isName reports whether s may be a name: lower-case ASCII letters, digits and underscores.
func isName(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return s != ""
}
