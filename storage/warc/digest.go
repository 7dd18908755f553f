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

// Digest is what a digest field says (WARC 1.1, 5.8), and the hash of what was written to it.
type Digest struct {
	hash.Hash
	Label string // of the algorithm, in lower case and without a hyphen

	want []byte // nil for a value that no digest of the algorithm has
}

// ParseDigest reads the value of a digest field, "algorithm:digest" in base16 or base32. It returns nil without one, or if
// the algorithm is not known.
func ParseDigest(field string) *Digest {
	label, text, _ := strings.Cut(field, ":")
	d := &Digest{Label: strings.Replace(strings.ToLower(label), "sha-", "sha", 1)}
	switch d.Label {
	case "sha256":
		d.Hash = sha256.New()
	case "sha1":
		d.Hash = sha1.New() //nolint:gosec // as above
	case "md5":
		d.Hash = md5.New() //nolint:gosec // as above
	case "sha512":
		d.Hash = sha512.New()
	default:
		return nil
	}
	want, err := hex.DecodeString(text)
	if err != nil || len(want) != d.Size() {
		text = strings.TrimRight(strings.ToUpper(text), "=")
		want, err = base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(text)
	}
	if err == nil && len(want) == d.Size() {
		d.want = want
	}
	return d
}

// Holds reports whether what was written has the digest of the field.
func (d *Digest) Holds() bool { return bytes.Equal(d.Sum(nil), d.want) }
