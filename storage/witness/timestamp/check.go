package timestamp

import (
	"bytes"
	"crypto"
	"crypto/sha1" //nolint:gosec // it names a certificate whose key has signed the name (RFC 2634), and proves nothing alone
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrUntrusted says that an answer is sound in itself, but that its signer's certificate leads to no trusted root.
var ErrUntrusted = errors.New("its certificate leads to no trusted root")

// ErrOtherText says that an answer is about another text.
var ErrOtherText = errors.New("it is about another text")

// Check holds an answer against the text that it is about. It returns the time that the authority stated, and the
// subject of the certificate that it signed with. Roots are those of the authorities that count; nil stands for those of
// the system. An answer that holds but for its roots is ErrUntrusted, with time and signer.
func Check(tsr, text []byte, roots *x509.CertPool) (at time.Time, signer string, err error) {
	t, err := Read(tsr)
	if err != nil {
		return at, "", err
	}
	cert, err := t.check(text, roots)
	if err != nil && !errors.Is(err, ErrUntrusted) {
		return at, "", fmt.Errorf("timestamp: %w", err)
	}
	if err != nil {
		err = fmt.Errorf("timestamp: %w", err)
	}
	return t.Time, cert.Subject.String(), err
}

// Accept holds the answer to r against it: the nonce, and all that Check does. On ErrUntrusted it returns time and
// signer, as Check does.
func (r Request) Accept(tsr, text []byte, roots *x509.CertPool) (at time.Time, signer string, err error) {
	t, err := Read(tsr)
	switch {
	case err != nil:
		return at, "", err
	case t.nonce == nil || t.nonce.Cmp(r.nonce) != 0:
		return at, "", errors.New("timestamp: it does not repeat the nonce of the request: it is an answer to another")
	}
	return Check(tsr, text, roots)
}

// check returns the certificate of the signer, unless something other than its root is wrong.
func (t *Token) check(text []byte, roots *x509.CertPool) (*x509.Certificate, error) {
	if digest := sha256.Sum256(text); !bytes.Equal(digest[:], t.digest) {
		return nil, ErrOtherText
	}
	cert, err := t.certificate()
	if err != nil {
		return nil, err
	}
	if err := t.checkSignature(cert); err != nil {
		return nil, err
	}
	if err := checkUsage(cert); err != nil {
		return nil, err
	}
	others := x509.NewCertPool()
	for _, c := range t.certs {
		others.AddCert(c)
	}
	_, err = cert.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: others, CurrentTime: t.Time,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping},
	})
	if err != nil {
		return cert, fmt.Errorf("%w: %w", ErrUntrusted, err)
	}
	return cert, nil
}

// certificate is that of the signer, as the signature names it.
func (t *Token) certificate() (*x509.Certificate, error) {
	var named issuerAndSerial
	id := t.signer.Signer
	if id.Class == asn1.ClassUniversal && whole(id.FullBytes, &named, "") != nil {
		return nil, errors.New("its signature does not say of which certificate it is")
	}
	at := slices.IndexFunc(t.certs, func(c *x509.Certificate) bool {
		if id.Class == asn1.ClassContextSpecific && id.Tag == 0 {
			return len(id.Bytes) > 0 && bytes.Equal(c.SubjectKeyId, id.Bytes)
		}
		return named.Serial != nil && bytes.Equal(c.RawIssuer, named.Issuer.FullBytes) &&
			c.SerialNumber.Cmp(named.Serial) == 0
	})
	if at < 0 {
		return nil, errors.New("it lacks the certificate of its signer")
	}
	return t.certs[at], nil
}

// checkSignature holds the signed attributes against the content and the certificate, and the signature against them
// (RFC 5652 5.4 and 5.6).
func (t *Token) checkSignature(cert *x509.Certificate) error {
	digest := digestOf(t.signer.Digest.Algorithm)
	if digest == 0 {
		return fmt.Errorf("its content is digested by %v, which does not count: SHA-256, SHA-384 and SHA-512 do",
			t.signer.Digest.Algorithm)
	}
	if len(t.signer.Signed.FullBytes) == 0 {
		return errors.New("it has no signed attributes")
	}
	// The signature is over the SET itself, not the tag [0] in its place.
	signed := bytes.Clone(t.signer.Signed.FullBytes)
	signed[0] = 0x20 | asn1.TagSet
	var attributes []attribute
	if err := whole(signed, &attributes, "set"); err != nil {
		return errors.New("its signed attributes cannot be read")
	}
	var kind asn1.ObjectIdentifier
	var sum []byte
	if err := errors.Join(only(attributes, oidContentType, &kind), only(attributes, oidMessageDigest, &sum)); err != nil {
		return err
	}
	switch {
	case !kind.Equal(oidTSTInfo):
		return errors.New("its signed attributes are about another kind of content")
	case !bytes.Equal(sum, hashed(digest, t.content)):
		return errors.New("its content is not the one that was signed")
	}
	if err := checkNamed(attributes, cert); err != nil {
		return err
	}
	alg := signatureOf(t.signer.Algorithm, digest)
	if alg == 0 {
		return fmt.Errorf("it is signed by %v, which is not known", t.signer.Algorithm.Algorithm)
	}
	if err := cert.CheckSignature(alg, signed, t.signer.Signature); err != nil {
		return fmt.Errorf("its signature is wrong: %w", err)
	}
	return nil
}

// only reads the one value of the one attribute of a kind.
func only(attributes []attribute, kind asn1.ObjectIdentifier, value any) error {
	var found []attribute
	for _, a := range attributes {
		if a.Type.Equal(kind) {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		return fmt.Errorf("it has %d signed attributes %v, not one", len(found), kind)
	}
	v := found[0].Values
	if v.Class != asn1.ClassUniversal || v.Tag != asn1.TagSet || whole(v.Bytes, value, "") != nil {
		return fmt.Errorf("its signed attribute %v cannot be read", kind)
	}
	return nil
}

// checkNamed looks whether the certificate is the one that the signed attributes name: else another with the same key
// could take its place (RFC 2634 5, RFC 5816).
func checkNamed(attributes []attribute, cert *x509.Certificate) error {
	has := func(kind asn1.ObjectIdentifier) bool {
		return slices.ContainsFunc(attributes, func(a attribute) bool { return a.Type.Equal(kind) })
	}
	var named signingCertificate
	var want, got []byte
	switch {
	case has(oidSigningCertV2):
		var id essCertIDv2
		if err := first(attributes, oidSigningCertV2, &named, &id); err != nil {
			return err
		}
		digest := crypto.SHA256
		if id.Algorithm.Algorithm != nil {
			digest = digestOf(id.Algorithm.Algorithm)
		}
		if digest == 0 {
			return errors.New("it names its certificate by a digest that does not count")
		}
		want, got = id.Hash, hashed(digest, cert.Raw)
	case has(oidSigningCert):
		var id essCertID
		if err := first(attributes, oidSigningCert, &named, &id); err != nil {
			return err
		}
		sum := sha1.Sum(cert.Raw) //nolint:gosec // see above
		want, got = id.Hash, sum[:]
	default:
		return errors.New("its signature does not cover the certificate (no ESS attribute)")
	}
	if !bytes.Equal(want, got) {
		return errors.New("its certificate is not the one that the signature names")
	}
	return nil
}

// first reads the first certificate of an ESS attribute, which is the signer's.
func first(attributes []attribute, kind asn1.ObjectIdentifier, named *signingCertificate, id any) error {
	if err := only(attributes, kind, named); err != nil {
		return err
	}
	if len(named.Certs) == 0 || whole(named.Certs[0].FullBytes, id, "") != nil {
		return fmt.Errorf("its signed attribute %v cannot be read", kind)
	}
	return nil
}

// checkUsage demands that the certificate is for time-stamps and nothing else, and critically so (RFC 3161 2.3).
func checkUsage(cert *x509.Certificate) error {
	critical := false
	for _, e := range cert.Extensions {
		critical = critical || e.Critical && e.Id.Equal(oidExtKeyUsage)
	}
	alone := len(cert.ExtKeyUsage) == 1 && len(cert.UnknownExtKeyUsage) == 0
	if !critical || !alone || cert.ExtKeyUsage[0] != x509.ExtKeyUsageTimeStamping {
		return errors.New("its certificate is not one for time-stamps alone (critical extended key usage, RFC 3161 2.3)")
	}
	return nil
}

func hashed(h crypto.Hash, b []byte) []byte {
	w := h.New()
	w.Write(b)
	return w.Sum(nil)
}
