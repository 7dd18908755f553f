package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"

	"curtsy/storage/audit/finding"
)

// heads is what storage.Line.Heads binds, of an exchange of ours.
type heads struct {
	asked  hash.Hash // of the request's block; nil without one
	answer []byte    // the head of the answer; nil without a whole one
}

// request has r digest the block of a request on the way.
func (h *heads) request(r *blockReader) {
	h.asked = sha256.New()
	r.src.all = h.asked
}

// take takes the head that r kept.
func (h *heads) take(r *blockReader) {
	h.answer, r.keeps = bytes.Clone(r.head), false
}

// bindHeads computes storage.Line.Heads from the records of an exchange of ours, once it is put together. It stays ""
// where they do not tell: the decision is not there, or the answer is left out.
func (h *Joined) bindHeads() {
	e := &h.Exchange
	if e.Line == nil || e.LeftOut != "" || !h.ours {
		return
	}
	sum := h.bound.asked
	if sum == nil {
		sum = sha256.New()
	}
	if e.Line.Status != 0 { // of what is no HTTP, the beginning may look like a head
		sum.Write(h.bound.answer) // never fails
	}
	e.Heads = hex.EncodeToString(sum.Sum(nil))
	h.bound = heads{}
}

// HeadsDiffer says what is wrong with the digest of the heads that the metadata of e has, if anything is. A ledger
// beside the archive tells where the digest is missing.
func (e *Exchange) HeadsDiffer() (finding.Finding, bool) {
	if e.Heads == "" || e.Line.Heads == "" || e.Line.Heads == e.Heads {
		return finding.Finding{}, false
	}
	f := e.Finding(finding.Digest, "headsSha256 of the request and the answer's head (docs/reference/archives.md): "+e.Heads,
		"the metadata has "+finding.Short(e.Line.Heads))
	f.Place = e.LineAt
	return f, true
}
