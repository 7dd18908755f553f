package wacz

import (
	"archive/zip"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"curtsy/storage/ledger/checkpoint"
)

// digest checks datapackage-digest.json: the manifest's hash, and who signed it. b is the manifest, nil without one.
func (p *Package) digest(entries map[string]*zip.File, b []byte, m *bundleManifest) {
	f := entries[digestName]
	if f == nil {
		if m.ours() { // Pack writes one always
			p.bad(digestName, "the manifest's hash, which this crawler puts into every package", "it is missing")
		}
		p.says = append(p.says, "the package has no "+digestName+
			" and no signature: anyone may have changed it, including the manifest")
		return
	}
	var d digest
	text, err := bundleSmall(f)
	if err == nil {
		err = parse(text, &d)
	}
	if err != nil {
		p.bad(digestName, "the manifest's hash (WACZ 1.1.1, datapackage-digest.json)", err.Error())
		return
	}
	sum := sha256.Sum256(b)
	hash := "sha256:" + hex.EncodeToString(sum[:])
	if !strings.EqualFold(d.Hash, hash) || d.Path != manifestName {
		p.bad(digestName, fmt.Sprintf("the hash of %s, %s", manifestName, hash),
			fmt.Sprintf("path %q, hash %q", short(d.Path), short(d.Hash)))
	}
	if d.Signed == nil && d.Ledger == nil {
		p.says = append(p.says, "the package is not signed: anyone may have changed it, including the manifest")
		return
	}
	if d.Signed != nil {
		p.signed(&d, hash)
	}
	if d.Ledger != nil {
		p.byLedger(&d, hash)
	}
}

// signed checks the signature of wacz-auth: an anonymous one, or one of a domain.
func (p *Package) signed(d *digest, hash string) {
	const asked = "a signature of the manifest's hash (wacz-auth 0.1.0)"
	s := d.Signed
	if !strings.EqualFold(s.Hash, hash) {
		p.bad(digestName, asked, "signedData is of another hash, "+short(s.Hash))
		return
	}
	var key any
	var err error
	by := ""
	if s.DomainCert != "" {
		by = "domain " + short(s.Domain)
		key, err = certified(s.DomainCert, s.Domain)
	} else {
		var der []byte
		if der, err = base64.StdEncoding.DecodeString(s.PublicKey); err == nil {
			key, err = x509.ParsePKIXPublicKey(der)
		}
		sum := sha256.Sum256(der)
		by = "key " + hex.EncodeToString(sum[:8])
	}
	if err == nil {
		err = verify(key, s.Signature, s.Hash)
	}
	if err != nil {
		p.bad(digestName, asked, by+": "+err.Error())
		return
	}
	p.check.Signed = append(p.check.Signed, by)
	p.owner(by)
	if s.DomainCert != "" {
		p.says = append(p.says, "who vouches for the certificate of "+short(s.Domain)+
			", and its timestamp: neither is checked")
	}
}

// certified returns the key of the first certificate, which must be of the domain.
func certified(chain, domain string) (any, error) {
	block, _ := pem.Decode([]byte(chain))
	if block == nil {
		return nil, errors.New("its certificate cannot be read")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("its certificate cannot be read: %w", err)
	}
	if err := c.VerifyHostname(domain); err != nil {
		return nil, err
	}
	return c.PublicKey, nil
}

// verify checks an ECDSA signature with SHA-256 of the hash as text: r and s one behind the other, as Web Cryptography
// writes them, or in ASN.1, as tools with certificates do.
func verify(key any, signature, hash string) error {
	k, ok := key.(*ecdsa.PublicKey)
	if !ok {
		return fmt.Errorf("its key is a %T: only ECDSA is checked", key)
	}
	sig, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return fmt.Errorf("the signature is not base64: %w", err)
	}
	sum := sha256.Sum256([]byte(hash))
	half := (k.Curve.Params().BitSize + 7) / 8
	if len(sig) == 2*half && ecdsa.Verify(k, sum[:], new(big.Int).SetBytes(sig[:half]),
		new(big.Int).SetBytes(sig[half:])) {
		return nil
	}
	if ecdsa.VerifyASN1(k, sum[:], sig) {
		return nil
	}
	return errors.New("the signature is not of this manifest, or not by this key")
}

// byLedger checks the signature by the key that signs the ledger.
func (p *Package) byLedger(d *digest, hash string) {
	const asked = "a signature of the manifest's hash by the ledger's key (archive reference)"
	key, err := hex.DecodeString(d.Ledger.Key)
	sig, serr := hex.DecodeString(d.Ledger.Sig)
	switch {
	case errors.Join(err, serr) != nil || len(key) != ed25519.PublicKeySize || d.Ledger.Algorithm != "Ed25519":
		p.bad(digestName, asked, "ledgerSignature cannot be read")
	case !ed25519.Verify(key, LedgerMessage(hash), sig):
		p.bad(digestName, asked, "ledgerSignature is not of this manifest, or not by this key")
	default:
		k := checkpoint.KeyOf(key)
		p.signer = k.String()
		p.before = rotatedTo(k, d.Rotations)
		p.check.Signed = append(p.check.Signed, "ledger key "+k.Name())
		p.owner("ledger key " + k.Name())
	}
}

// maxRotations bounds the notes that are read, as the manifest is.
const maxRotations = 1000

// rotatedTo are the keys from which notes of rotations lead to a key.
func rotatedTo(k checkpoint.Key, notes []string) (before []string) {
	for _, text := range slices.Backward(notes[:min(len(notes), maxRotations)]) {
		if r, err := checkpoint.ParseRotation([]byte(text)); err == nil && r.New == k {
			k = r.Old
			before = append(before, k.String())
		}
	}
	return before
}

// owner says what a signature leaves open.
func (p *Package) owner(by string) {
	p.says = append(p.says, "whose the key is that signed the package ("+by+
		"): the signature proves that nothing was changed since its owner packed it")
}
