package redact

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// Subject is what is forgotten.
type Subject struct {
	Text   string            // as the operator wrote it
	Covers func(string) bool // reports whether a URL is of it
	Host   bool              // all of a host, or more: with everything its robots.txt goes, too
}

// Digest is what a redaction mark says of a subject: nobody who does not know both can tell which it was. The salt is
// the operator's to keep, or to give to whoever asked.
func Digest(salt, subject string) string {
	sum := sha256.Sum256([]byte(salt + "\n" + subject))
	return hex.EncodeToString(sum[:])
}

// newSalt is 16 random octets in hexadecimal digits.
func newSalt() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
