package wacz

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
)

// signedData is the anonymous signature of wacz-auth, which has these properties and no others.
type signedData struct {
	Hash      string `json:"hash"`
	Created   string `json:"created"`
	Software  string `json:"software"`
	Version   string `json:"version"`
	Signature string `json:"signature"`
	PublicKey string `json:"publicKey"`
}

// ledgerSignature is the signature by the key that signs the ledger's heads.
type ledgerSignature struct {
	Algorithm string `json:"algorithm"` // "Ed25519"
	Key       string `json:"key"`       // hex, as in the ledger
	Sig       string `json:"sig"`       // hex, of LedgerMessage
}

// LedgerMessage is what the ledger's key signs: a line that no signature of a ledger can be mistaken for, and the
// manifest's hash as text.
func LedgerMessage(hash string) []byte { return []byte("curtsy wacz 1\n" + hash) }

func signByLedger(key ed25519.PrivateKey, hash string) *ledgerSignature {
	return &ledgerSignature{
		Algorithm: "Ed25519", Key: hex.EncodeToString(key.Public().(ed25519.PublicKey)),
		Sig: hex.EncodeToString(ed25519.Sign(key, LedgerMessage(hash))),
	}
}

// sign makes the signature that players verify.
func sign(key ed25519.PrivateKey, hash string) (*signedData, error) {
	signer, err := signerOf(key)
	if err != nil {
		return nil, fmt.Errorf("wacz: sign: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(&signer.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("wacz: sign: %w", err)
	}
	sum := sha256.Sum256([]byte(hash))
	der, err := signer.Sign(nil, sum[:], crypto.SHA256) // without randomness: RFC 6979
	if err != nil {
		return nil, fmt.Errorf("wacz: sign: %w", err)
	}
	var rs struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &rs); err != nil {
		return nil, fmt.Errorf("wacz: sign: %w", err)
	}
	// Web Cryptography, 23.7.3: r and s one behind the other, each as long as the order of the curve.
	sig := make([]byte, 96)
	rs.R.FillBytes(sig[:48])
	rs.S.FillBytes(sig[48:])
	return &signedData{Hash: hash, Signature: base64.StdEncoding.EncodeToString(sig),
		PublicKey: base64.StdEncoding.EncodeToString(public)}, nil
}

// signerOf derives the P-384 key. FIPS 186-5 A.2.1: 64 bits more than the order has, modulo its predecessor, plus one.
func signerOf(key ed25519.PrivateKey) (*ecdsa.PrivateKey, error) {
	b, err := hkdf.Key(sha256.New, key.Seed(), nil, "curtsy wacz 1: ECDSA P-384", 56)
	if err != nil {
		return nil, err
	}
	one := big.NewInt(1)
	n := new(big.Int).Sub(elliptic.P384().Params().N, one)
	d := new(big.Int).Mod(new(big.Int).SetBytes(b), n)
	return ecdsa.ParseRawPrivateKey(elliptic.P384(), d.Add(d, one).FillBytes(make([]byte, 48)))
}
