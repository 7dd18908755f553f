package layout

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Printer computes frontier.Print many times with one secret. frontier.Print sets up the two inner states of HMAC for
// each URL; a hash.Hash that is reset keeps them, which is most of the work for strings as short as URLs.
type Printer struct {
	hashes sync.Pool // of *printing
}

type printing struct {
	mac hash.Hash
	buf []byte
}

func NewPrinter(secret []byte) *Printer {
	return &Printer{hashes: sync.Pool{New: func() any { return &printing{mac: hmac.New(sha256.New, secret)} }}}
}

// Print returns the fingerprint of u.
func (p *Printer) Print(u canon.URL) frontier.Fingerprint {
	h := p.hashes.Get().(*printing)
	defer p.hashes.Put(h)
	h.mac.Reset()
	h.buf = append(h.buf[:0], u.Key()...)
	h.mac.Write(h.buf)
	h.buf = h.mac.Sum(h.buf[:0])
	return max(frontier.Fingerprint(binary.BigEndian.Uint64(h.buf)), 1)
}
