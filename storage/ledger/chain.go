package ledger

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
)

// Hash is a running hash: it stands for every byte of a ledger up to a place.
type Hash [sha256.Size]byte

// String is h in lower-case base16.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(h) {
		return fmt.Errorf("%.80q is not 64 digits of base16", text)
	}
	copy(h[:], b)
	return nil
}

const (
	chainKey  = `,"chain":"`
	sigKey    = `,"sig":"`
	shortHex  = 16 // digits of the running hash in a decision: enough to name the one that was edited
	longHex   = 2 * sha256.Size
	sigHex    = 2 * ed25519.SignatureSize
	chainRoom = len(chainKey) + longHex + len(sigKey) + 1 + sigHex + len("\"}\n")
)

// running computes the running hash of a ledger without allocating.
type running struct {
	h      Hash
	digest hash.Hash
	tail   [1]byte // "}"
}

func newRunning() *running { return &running{digest: sha256.New(), tail: [1]byte{'}'}} }

// step moves the hash over a line: its bytes without the chain part, which is body and the closing brace.
func (r *running) step(body []byte) {
	r.digest.Reset()
	r.digest.Write(r.h[:])
	r.digest.Write(body)
	r.digest.Write(r.tail[:])
	r.digest.Sum(r.h[:0])
}

// seal moves the hash over the object that begins at b[from:] and writes digits of it into the object, and its
// signature when there is a key.
func (r *running) seal(b []byte, from, digits int, key ed25519.PrivateKey) []byte {
	b = b[:len(b)-1]
	r.step(b[from:])
	b = append(b, chainKey...)
	b = hex.AppendEncode(b, r.h[:digits/2])
	if key != nil {
		b = append(append(b, '"'), sigKey...)
		b = hex.AppendEncode(b, ed25519.Sign(key, r.h.message()))
	}
	return append(b, "\"}\n"...)
}

// message is what the signature of a head signs. The words before the hash keep a signature made for something else
// from being one.
func (h Hash) message() []byte { return append([]byte("curtsy ledger head\n"), h.String()...) }

// sealed is a line taken apart.
type sealed struct {
	body   []byte // without chain part and closing brace
	stated []byte // the hash as the line states it: its first bytes, or all
	sig    []byte // nil without one
}

var errUnsealed = errors.New("it does not end in a chain part")

// unseal takes a line without its newline apart.
func unseal(line []byte) (s sealed, err error) {
	s.body = line
	if n := len(line) - len(sigKey) - sigHex - len(`"}`); n > 0 && bytes.HasPrefix(line[n:], []byte(sigKey)) {
		s.sig = line[n+len(sigKey) : len(line)-len(`"}`)]
		line = append(line[:n:n], '}') // a copy: this is a head, and rare
	}
	for _, digits := range []int{shortHex, longHex} {
		n := len(line) - len(chainKey) - digits - len(`"}`)
		if n < 1 || !bytes.HasPrefix(line[n:], []byte(chainKey)) || !bytes.HasSuffix(line, []byte(`"}`)) {
			continue
		}
		s.body, s.stated = line[:n], line[n+len(chainKey):len(line)-len(`"}`)]
		if s.stated, err = unhex(s.stated); err != nil {
			return s, err
		}
		if s.sig != nil {
			s.sig, err = unhex(s.sig)
		}
		return s, err
	}
	return s, errUnsealed
}

// unhex reads the one spelling that we write: upper-case digits would be an edit that nobody sees.
func unhex(b []byte) ([]byte, error) {
	out := make([]byte, 0, sha256.Size)
	out, err := hex.AppendDecode(out, b)
	if err != nil || !bytes.Equal(bytes.ToLower(b), b) {
		return nil, errUnsealed
	}
	return out, nil
}
