package crawltest

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
)

// The bounds of a directory.
const (
	MaxDirectory = 1 << 20 // bytes
	maxKeys      = 1000
	maxModulus   = 8192 // bits of an RSA key
)

// Directory is the keys that an agent publishes, by their thumbprints. Nil is one that nobody knows.
type Directory struct{ keys map[string]crypto.PublicKey }

// jwk are the members of a JSON Web Key that make it out (RFC 7517, RFC 7518 6.3, RFC 8037 2).
type jwk struct {
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	N   string `json:"n"`
	E   string `json:"e"`
}

// ParseDirectory reads a JWK Set. Keys for algorithms that are not read here are left out.
func ParseDirectory(b []byte) (*Directory, error) {
	if len(b) > MaxDirectory {
		return nil, fmt.Errorf("botauth: a key directory of more than %d bytes", MaxDirectory)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, fmt.Errorf("botauth: a key directory is a JWK Set, an object with the member keys: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("botauth: a key directory of %d keys: %d are read at most", len(set.Keys), maxKeys)
	}
	d := &Directory{keys: map[string]crypto.PublicKey{}}
	for i, raw := range set.Keys {
		var k jwk
		if err := json.Unmarshal(raw, &k); err != nil {
			return nil, fmt.Errorf("botauth: key %d of the directory: %w", i+1, err)
		}
		public, thumbprint, err := k.public()
		if err != nil {
			return nil, fmt.Errorf("botauth: key %d of the directory: %w", i+1, err)
		}
		if public != nil {
			d.keys[thumbprint] = public
		}
	}
	if len(d.keys) == 0 {
		return nil, errors.New("botauth: the key directory has no key of Ed25519 or RSA")
	}
	return d, nil
}

// public returns the key and its thumbprint: SHA-256 of the required members in order (RFC 7638 3). A key of another
// kind is nil.
func (k jwk) public() (key crypto.PublicKey, thumbprint string, err error) {
	var members string
	switch {
	case k.Kty == "OKP" && k.Crv == "Ed25519":
		x, err := decode(k.X)
		if err != nil || len(x) != ed25519.PublicKeySize {
			return nil, "", fmt.Errorf("x is not a public key of Ed25519")
		}
		key, members = ed25519.PublicKey(x), `{"crv":"Ed25519","kty":"OKP","x":"`+k.X+`"}`
	case k.Kty == "RSA":
		n, nerr := decode(k.N)
		e, eerr := decode(k.E)
		if nerr != nil || eerr != nil || len(n) > maxModulus/8 || len(e) > 4 || len(n) == 0 || len(e) == 0 {
			return nil, "", fmt.Errorf("n and e are not a public key of RSA of at most %d bits", maxModulus)
		}
		key = &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
		members = `{"e":"` + k.E + `","kty":"RSA","n":"` + k.N + `"}`
	default:
		return nil, "", nil
	}
	sum := sha256.Sum256([]byte(members))
	return key, base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// decode reads base64url without padding in its one spelling, so that a key has one thumbprint.
func decode(s string) ([]byte, error) { return base64.RawURLEncoding.Strict().DecodeString(s) }
