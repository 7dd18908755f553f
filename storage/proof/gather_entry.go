package proof

import (
	"bytes"
	"encoding/hex"
	"errors"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
)

// entry is a line of the ledger, as it stands.
type entry ledger.Text

var (
	gatherMarkStart = []byte(`{"mark":"`)
	gatherStubStart = []byte(`{"redacted":"`)
	timeStart       = []byte(`{"time":"`)
	urlStart        = []byte(`","url":"`)
)

func (e entry) isMark() bool     { return bytes.HasPrefix(e.Line, gatherMarkStart) }
func (e entry) isStub() bool     { return bytes.HasPrefix(e.Line, gatherStubStart) }
func (e entry) mark() gatherMark { return markOf(e.Line) }

// hash is the entry hash, which a stub states.
func (e entry) hash() tlog.Hash {
	if e.isStub() {
		h, _ := hashIn(e.Line[len(gatherStubStart):]) // one that is none fits no checkpoint
		return h
	}
	return tree.EntryHash(e.Line)
}

var errNoHash = errors.New("not a hash")

// hashIn reads the hash that b begins with, in hexadecimal digits.
func hashIn(b []byte) (h tlog.Hash, err error) {
	if len(b) < 2*len(h) {
		return h, errNoHash
	}
	_, err = hex.Decode(h[:], b[:2*len(h)])
	return h, err
}

// host is the host of a decision. It exists for its speed: there is a line for every URL ever met, and most are of other
// hosts. Lines begin with their time and their URL (docs/reference/ledger.md), so the others need not be parsed.
func (e entry) host() string {
	if rest, ok := bytes.CutPrefix(e.Line, timeStart); ok {
		at := bytes.IndexByte(rest, '"')
		if url, ok := bytes.CutPrefix(rest[max(at, 0):], urlStart); ok {
			if end := bytes.IndexByte(url, '"'); end >= 0 && bytes.IndexByte(url[:end], '\\') < 0 {
				return hostmap.Host(string(url[:end]))
			}
		}
	}
	l, err := storage.ParseLine(e.Line)
	if err != nil {
		return "" // as the ledger has it
	}
	return hostmap.Host(l.URL)
}

func hashOf(r Row) tlog.Hash { return tree.EntryHash(r.Public) }
