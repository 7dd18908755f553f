package timestamp

import (
	"crypto"
	_ "crypto/sha256" // the digests that digestOf names
	_ "crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"time"
)

// The object identifiers of RFC 3161, RFC 5652, RFC 2634, RFC 5035 and RFC 5280.
var (
	oidSignedData    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidTSTInfo       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
	oidContentType   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidMessageDigest = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	oidSigningCert   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 12}
	oidSigningCertV2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}
	oidExtKeyUsage   = asn1.ObjectIdentifier{2, 5, 29, 37}
)

// The object identifiers of algorithms, RFC 5754, RFC 8419 and RFC 4056.
var (
	oidSHA256  = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidSHA384  = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 2}
	oidSHA512  = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 3}
	oidRSA     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}
	oidRSAPSS  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 10}
	oidECKey   = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}
	oidEd25519 = asn1.ObjectIdentifier{1, 3, 101, 112}
)

// request is a TimeStampReq (RFC 3161 2.4.1).
type request struct {
	Version int
	Imprint imprint
	Nonce   *big.Int
	CertReq bool
}

type imprint struct {
	Algorithm pkix.AlgorithmIdentifier
	Digest    []byte
}

// response is a TimeStampResp (RFC 3161 2.4.2).
type response struct {
	Status statusInfo
	Token  asn1.RawValue `asn1:"optional"`
}

type statusInfo struct {
	Status int
	Text   []string       `asn1:"optional"`
	Fail   asn1.BitString `asn1:"optional"`
}

// contentInfo and what follows are those of RFC 5652.
type contentInfo struct {
	Type    asn1.ObjectIdentifier
	Content asn1.RawValue `asn1:"explicit,tag:0"`
}

type signedData struct {
	Version      int
	Algorithms   []pkix.AlgorithmIdentifier `asn1:"set"`
	Content      encapsulated
	Certificates asn1.RawValue `asn1:"optional,tag:0"`
	CRLs         asn1.RawValue `asn1:"optional,tag:1"`
	Signers      []signerInfo  `asn1:"set"`
}

type encapsulated struct {
	Type    asn1.ObjectIdentifier
	Content []byte `asn1:"explicit,tag:0"`
}

type signerInfo struct {
	Version   int
	Signer    asn1.RawValue // issuer and serial number, or [0] the subject key identifier
	Digest    pkix.AlgorithmIdentifier
	Signed    asn1.RawValue `asn1:"optional,tag:0"`
	Algorithm pkix.AlgorithmIdentifier
	Signature []byte
	Unsigned  asn1.RawValue `asn1:"optional,tag:1"`
}

type issuerAndSerial struct {
	Issuer asn1.RawValue
	Serial *big.Int
}

type attribute struct {
	Type   asn1.ObjectIdentifier
	Values asn1.RawValue // a SET
}

// tstInfo is a TSTInfo (RFC 3161 2.4.2).
type tstInfo struct {
	Version    int
	Policy     asn1.ObjectIdentifier
	Imprint    imprint
	Serial     *big.Int
	Time       time.Time        `asn1:"generalized"`
	Accuracy   accuracy         `asn1:"optional"`
	Ordering   bool             `asn1:"optional"`
	Nonce      *big.Int         `asn1:"optional"`
	TSA        asn1.RawValue    `asn1:"optional,tag:0"`
	Extensions []pkix.Extension `asn1:"optional,tag:1"`
}

type accuracy struct {
	Seconds int `asn1:"optional"`
	Millis  int `asn1:"optional,tag:0"`
	Micros  int `asn1:"optional,tag:1"`
}

// signingCertificate is the ESS attribute of either version: certificates, of which the first is the signer's.
type signingCertificate struct {
	Certs    []asn1.RawValue
	Policies asn1.RawValue `asn1:"optional"`
}

type essCertID struct {
	Hash   []byte
	Issuer asn1.RawValue `asn1:"optional"`
}

type essCertIDv2 struct {
	Algorithm pkix.AlgorithmIdentifier `asn1:"optional"` // SHA-256 if it is not there
	Hash      []byte
	Issuer    asn1.RawValue `asn1:"optional"`
}

type pssParameters struct {
	Hash pkix.AlgorithmIdentifier `asn1:"explicit,tag:0"`
	MGF  asn1.RawValue            `asn1:"optional,tag:1"`
	Salt asn1.RawValue            `asn1:"optional,tag:2"`
	Tail asn1.RawValue            `asn1:"optional,tag:3"`
}

// digestOf is the digest that an algorithm stands for, 0 if it is none that counts: SHA-1 does not.
func digestOf(id asn1.ObjectIdentifier) crypto.Hash {
	switch {
	case id.Equal(oidSHA256):
		return crypto.SHA256
	case id.Equal(oidSHA384):
		return crypto.SHA384
	case id.Equal(oidSHA512):
		return crypto.SHA512
	}
	return 0
}

// signatures are the algorithms that state their digest.
var signatures = []struct {
	id  asn1.ObjectIdentifier
	alg x509.SignatureAlgorithm
}{
	{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}, x509.SHA256WithRSA},
	{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 12}, x509.SHA384WithRSA},
	{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 13}, x509.SHA512WithRSA},
	{asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}, x509.ECDSAWithSHA256},
	{asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 3}, x509.ECDSAWithSHA384},
	{asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 4}, x509.ECDSAWithSHA512},
	{oidEd25519, x509.PureEd25519},
}

// signatureOf is the algorithm of a signature, 0 if it is none that counts.
func signatureOf(id pkix.AlgorithmIdentifier, digest crypto.Hash) x509.SignatureAlgorithm {
	for _, s := range signatures {
		if s.id.Equal(id.Algorithm) {
			return s.alg
		}
	}
	var rsa, pss, ec x509.SignatureAlgorithm
	if id.Algorithm.Equal(oidRSAPSS) {
		var p pssParameters
		if rest, err := asn1.Unmarshal(id.Parameters.FullBytes, &p); err != nil || len(rest) > 0 {
			return 0
		}
		digest = digestOf(p.Hash.Algorithm)
	}
	switch digest {
	case crypto.SHA256:
		rsa, pss, ec = x509.SHA256WithRSA, x509.SHA256WithRSAPSS, x509.ECDSAWithSHA256
	case crypto.SHA384:
		rsa, pss, ec = x509.SHA384WithRSA, x509.SHA384WithRSAPSS, x509.ECDSAWithSHA384
	case crypto.SHA512:
		rsa, pss, ec = x509.SHA512WithRSA, x509.SHA512WithRSAPSS, x509.ECDSAWithSHA512
	}
	switch {
	case id.Algorithm.Equal(oidRSA):
		return rsa
	case id.Algorithm.Equal(oidRSAPSS):
		return pss
	case id.Algorithm.Equal(oidECKey):
		return ec
	}
	return 0
}
