package timestamp

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// The bounds of an answer and of a file of them.
const (
	MaxResponse  = 64 << 10 // octets
	maxResponses = 16       // in a file
	maxCerts     = 16
)

// A Token is an answer that was read. Its signature and certificate have not been checked.
type Token struct {
	Time     time.Time
	Accuracy time.Duration // zero if none is stated
	Policy   string        // the authority's, as an object identifier

	digest  []byte
	nonce   *big.Int // nil if none
	content []byte   // the TSTInfo
	signer  signerInfo
	certs   []*x509.Certificate
}

// Read reads an answer that may come from anybody.
func Read(tsr []byte) (*Token, error) {
	t, err := read(tsr)
	if err != nil {
		return nil, fmt.Errorf("timestamp: %w", err)
	}
	return t, nil
}

func read(tsr []byte) (*Token, error) {
	if len(tsr) > MaxResponse {
		return nil, fmt.Errorf("an answer has at most %d octets, and this has %d", MaxResponse, len(tsr))
	}
	var r response
	if err := whole(tsr, &r, ""); err != nil {
		return nil, errors.New("it is no answer of a time-stamping authority (TimeStampResp in DER, RFC 3161)")
	}
	if r.Status.Status != 0 && r.Status.Status != 1 {
		return nil, refused(r.Status)
	}
	var info contentInfo
	var data signedData
	switch err := whole(r.Token.FullBytes, &info, ""); {
	case err != nil || !info.Type.Equal(oidSignedData):
		return nil, errors.New("it was granted and has no token")
	case whole(info.Content.Bytes, &data, "") != nil:
		return nil, errors.New("its token is not signed data in DER (RFC 5652)")
	case !data.Content.Type.Equal(oidTSTInfo):
		return nil, errors.New("its token is signed data of another kind than a time-stamp")
	case len(data.Signers) != 1:
		return nil, fmt.Errorf("its token has %d signatures, not one", len(data.Signers))
	}
	t := &Token{content: data.Content.Content, signer: data.Signers[0]}
	var err error
	if t.certs, err = certificates(data.Certificates.Bytes); err != nil {
		return nil, err
	}
	return t, t.readInfo()
}

// readInfo reads what is signed.
func (t *Token) readInfo() error {
	var info tstInfo
	switch err := whole(t.content, &info, ""); {
	case err != nil:
		return errors.New("its content is no time-stamp in DER (TSTInfo, RFC 3161)")
	case info.Version != 1:
		return fmt.Errorf("it is a time-stamp of version %d, and 1 is known", info.Version)
	case !info.Imprint.Algorithm.Algorithm.Equal(oidSHA256):
		return errors.New("it is about a digest that is not SHA-256")
	}
	for _, e := range info.Extensions {
		if e.Critical {
			return fmt.Errorf("it has the critical extension %v, which is not known", e.Id)
		}
	}
	a := info.Accuracy
	if a.Seconds < 0 || a.Seconds > 1<<30 || a.Millis < 0 || a.Millis > 999 || a.Micros < 0 || a.Micros > 999 {
		return errors.New("its accuracy is none")
	}
	t.Accuracy = time.Duration(a.Seconds)*time.Second + time.Duration(a.Millis)*time.Millisecond +
		time.Duration(a.Micros)*time.Microsecond
	t.Time, t.Policy = info.Time.UTC(), info.Policy.String()
	t.digest, t.nonce = info.Imprint.Digest, info.Nonce
	return nil
}

// failures are the bits of PKIFailureInfo (RFC 3161 2.4.2).
var failures = []struct {
	bit  int
	name string
}{
	{0, "algorithm not known"}, {2, "request not allowed"}, {5, "request not understood"}, {14, "its clock is not to be had"},
	{15, "policy not known"}, {16, "extension not known"}, {17, "addition not known"}, {25, "out of order"},
}

// refused says why an authority gave no token.
func refused(s statusInfo) error {
	why := []string{fmt.Sprintf("status %d", s.Status)}
	if s.Status == 2 {
		why[0] = "refused"
	}
	for _, f := range failures {
		if s.Fail.At(f.bit) == 1 {
			why = append(why, f.name)
		}
	}
	for _, text := range s.Text {
		why = append(why, fmt.Sprintf("%.200q", text))
	}
	return fmt.Errorf("the authority gave no token: %s", strings.Join(why[:min(len(why), 8)], ", "))
}

// certificates are those that came along. Each is of X.509; attribute certificates and others are refused.
func certificates(b []byte) (all []*x509.Certificate, err error) {
	for len(b) > 0 {
		var one asn1.RawValue
		if b, err = asn1.Unmarshal(b, &one); err != nil || len(all) == maxCerts {
			return nil, fmt.Errorf("it has certificates that cannot be read, or more than %d", maxCerts)
		}
		c, err := x509.ParseCertificate(one.FullBytes)
		if err != nil {
			return nil, fmt.Errorf("a certificate of it cannot be read: %w", err)
		}
		all = append(all, c)
	}
	return all, nil
}

// whole reads a value that is all there is.
func whole(b []byte, value any, params string) error {
	rest, err := asn1.UnmarshalWithParams(b, value, params)
	if err == nil && len(rest) > 0 {
		err = errors.New("octets behind it")
	}
	return err
}

// Split takes a file apart that has one answer or several, one behind the other. The answers are not read.
func Split(file []byte) (all [][]byte, err error) {
	for len(file) > 0 {
		var one asn1.RawValue
		rest, err := asn1.Unmarshal(file, &one)
		switch {
		case err != nil || one.Tag != asn1.TagSequence || one.Class != asn1.ClassUniversal:
			return nil, errors.New("timestamp: this is no file of answers in DER, one behind the other")
		case len(all) == maxResponses:
			return nil, fmt.Errorf("timestamp: a file has at most %d answers", maxResponses)
		}
		all, file = append(all, bytes.Clone(one.FullBytes)), rest
	}
	return all, nil
}
