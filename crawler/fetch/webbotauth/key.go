package webbotauth

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// Key is the key that requests are signed with.
type Key struct {
	private ed25519.PrivateKey
	x, id   string // the public key and its thumbprint, in base64url
}

// NewKey returns the key of a seed of 32 bytes.
func NewKey(seed []byte) (*Key, error) {
	if len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("webbotauth: a key has %d bytes, not %d", ed25519.SeedSize, len(seed))
	}
	k := &Key{private: ed25519.NewKeyFromSeed(seed)}
	k.x = base64.RawURLEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey))
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + k.x + `"}`))
	k.id = base64.RawURLEncoding.EncodeToString(sum[:])
	return k, nil
}

// ID is the thumbprint by which requests name the key (RFC 7638 3, RFC 8037 A.3).
func (k *Key) ID() string { return k.id }

// covered is a component that a signature covers: its identifier, with parameters, and its value (RFC 9421 2).
type covered struct{ id, value string }

// sign returns the members of Signature-Input and Signature that cover components, without their label. params are the
// parameters of the signature, each with a semicolon before it. The signature is over the base of RFC 9421 2.5.
func (k *Key) sign(params string, components ...covered) (input, signature string) {
	var base, ids []byte
	for i, c := range components {
		base = append(base, c.id+": "+c.value+"\n"...)
		if i > 0 {
			ids = append(ids, ' ')
		}
		ids = append(ids, c.id...)
	}
	input = "(" + string(ids) + ")" + params
	base = append(base, `"@signature-params": `+input...)
	return input, ":" + base64.StdEncoding.EncodeToString(ed25519.Sign(k.private, base)) + ":"
}
