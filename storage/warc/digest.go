package warc

import (
	"bytes"
	"crypto/md5"  //nolint:gosec // what other crawlers wrote is verified, not trusted
	"crypto/sha1" //nolint:gosec // likewise
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/hex"
	"hash"
	"strings"
)

// labelledDigest is a digest field's value, "algorithm:digest", and the hash to verify it with.
type labelledDigest struct {
	hash.Hash
	want []byte
}

// parseDigest reads a digest in base16 or base32. It returns nil for one that cannot be verified.
func parseDigest(s string) *labelledDigest {
	name, text, ok := strings.Cut(s, ":")
	if !ok {
		return nil
	}
	var h hash.Hash
	switch strings.ToLower(name) {
	case "sha256", "sha-256":
		h = sha256.New()
	case "sha1", "sha-1":
		h = sha1.New() //nolint:gosec // as above
	case "md5":
		h = md5.New() //nolint:gosec // as above
	case "sha512", "sha-512":
		h = sha512.New()
	default:
		return nil
	}
	want, err := hex.DecodeString(text)
	if err != nil || len(want) != h.Size() {
		text = strings.TrimRight(strings.ToUpper(text), "=")
		want, err = base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(text)
	}
	if err != nil || len(want) != h.Size() {
		return nil
	}
	return &labelledDigest{h, want}
}

func (d *labelledDigest) holds() bool { return bytes.Equal(d.Sum(nil), d.want) }
