package timestamp

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
)

// A Request asks when a text was there, without showing it.
type Request struct {
	digest [sha256.Size]byte
	nonce  *big.Int
}

// NewRequest returns a request about text, with a nonce of its own.
func NewRequest(text []byte) Request {
	var nonce [16]byte
	rand.Read(nonce[:])
	nonce[0] = nonce[0]&0x7f | 0x40 // always as long, and positive
	return Request{sha256.Sum256(text), new(big.Int).SetBytes(nonce[:])}
}

// Marshal is r as it is sent: a TimeStampReq in DER that asks for the signer's certificate, too.
func (r Request) Marshal() ([]byte, error) {
	b, err := asn1.Marshal(request{
		Version: 1,
		Imprint: imprint{pkix.AlgorithmIdentifier{Algorithm: oidSHA256, Parameters: asn1.NullRawValue}, r.digest[:]},
		Nonce:   r.nonce,
		CertReq: true,
	})
	if err != nil {
		return nil, fmt.Errorf("timestamp: request: %w", err)
	}
	return b, nil
}
