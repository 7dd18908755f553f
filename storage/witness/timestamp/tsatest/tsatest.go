// Package tsatest is a time-stamping authority for tests, with a root of its own. It signs whatever a test wants it to:
// its encoder shares nothing with the reader in package timestamp.
package tsatest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"testing"
	"time"
)

// An Authority answers requests. Change, if it is there, changes what goes into each answer.
type Authority struct {
	Roots  *x509.CertPool
	PEM    []byte // the root, as a file has it
	Change func(*Parts)

	key  *ecdsa.PrivateKey
	root *x509.Certificate
	leaf *x509.Certificate
	boss *ecdsa.PrivateKey
}

// Parts are what an answer is made of.
type Parts struct {
	Status      int
	Imprint     []byte
	Digest      asn1.ObjectIdentifier // of the imprint
	Nonce       *big.Int              // nil for none
	Time        time.Time
	Version     int
	Extensions  []pkix.Extension
	Kind        asn1.ObjectIdentifier // of the content
	Signed      asn1.ObjectIdentifier // the kind in the signed attributes
	Named       []byte                // the certificate that the signature names, in DER; nil for none
	Certificate []byte                // the one that comes along, in DER; nil for none
	Signers     int
	Swap        func(info []byte) []byte // changes the content after it was digested
	Spoil       func(signature []byte)
}

var (
	oidSHA256  = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidTST     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
	timestamps = []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping}
)

// New makes an authority whose certificates are valid for a day around now.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{Roots: x509.NewCertPool(), key: newKey(t), boss: newKey(t)}
	a.root = Issue(t, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Root of tests"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}, nil, a.boss.Public(), a.boss)
	a.leaf = a.Leaf(t, timestamps, true)
	a.Roots.AddCert(a.root)
	a.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.root.Raw})
	return a
}

// Leaf issues another certificate for the key that signs answers.
func (a *Authority) Leaf(t testing.TB, usage []x509.ExtKeyUsage, critical bool) *x509.Certificate {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "Clock of tests"}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	ids := map[x509.ExtKeyUsage]asn1.ObjectIdentifier{
		x509.ExtKeyUsageTimeStamping: {1, 3, 6, 1, 5, 5, 7, 3, 8}, x509.ExtKeyUsageServerAuth: {1, 3, 6, 1, 5, 5, 7, 3, 1},
	}
	var list []asn1.ObjectIdentifier
	for _, u := range usage {
		list = append(list, ids[u])
	}
	if list != nil {
		id := asn1.ObjectIdentifier{2, 5, 29, 37}
		c.ExtraExtensions = []pkix.Extension{{Id: id, Critical: critical, Value: must(asn1.Marshal(list))}}
	}
	return Issue(t, c, a.root, a.key.Public(), a.boss)
}

// Issue makes a certificate that is valid for a day around now; one without a parent is its own.
func Issue(t testing.TB, c, parent *x509.Certificate, public crypto.PublicKey, by crypto.Signer) *x509.Certificate {
	t.Helper()
	c.NotBefore, c.NotAfter = time.Now().Add(-12*time.Hour), time.Now().Add(12*time.Hour)
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, public, by)
	if err != nil {
		t.Fatal(err)
	}
	return must(x509.ParseCertificate(der))
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// ServeHTTP answers requests as RFC 3161 3.4 has it.
func (a *Authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query, err := io.ReadAll(io.LimitReader(r.Body, 1<<16))
	if err != nil || r.Header.Get("Content-Type") != "application/timestamp-query" {
		http.Error(w, "no query", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/timestamp-reply")
	_, _ = w.Write(a.Answer(query)) // the client has gone, or not
}

// Answer answers a request in DER.
func (a *Authority) Answer(query []byte) []byte {
	var q struct {
		Version int
		Imprint struct {
			Algorithm pkix.AlgorithmIdentifier
			Digest    []byte
		}
		Policy  asn1.ObjectIdentifier `asn1:"optional"`
		Nonce   *big.Int              `asn1:"optional"`
		CertReq bool                  `asn1:"optional"`
	}
	if _, err := asn1.Unmarshal(query, &q); err != nil {
		return must(asn1.Marshal(struct{ Status struct{ Status int } }{struct{ Status int }{2}}))
	}
	return a.make(Parts{Imprint: q.Imprint.Digest, Digest: q.Imprint.Algorithm.Algorithm, Nonce: q.Nonce})
}

// Stamp is an answer about a text, of now.
func (a *Authority) Stamp(text []byte) []byte {
	sum := sha256.Sum256(text)
	return a.make(Parts{Imprint: sum[:], Digest: oidSHA256})
}

func (a *Authority) make(p Parts) []byte {
	p.Time, p.Version, p.Kind, p.Signed, p.Signers = time.Now(), 1, oidTST, oidTST, 1
	p.Named, p.Certificate = a.leaf.Raw, a.leaf.Raw
	p.Swap, p.Spoil = func(b []byte) []byte { return b }, func([]byte) {}
	if a.Change != nil {
		a.Change(&p)
	}
	return a.encode(p)
}
