package tsatest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"math/big"
	"slices"
)

// tlv is a value with its tag, of parts that are encoded already.
func tlv(class, tag int, parts ...[]byte) []byte {
	return must(asn1.Marshal(asn1.RawValue{Class: class, Tag: tag, IsCompound: true, Bytes: slices.Concat(parts...)}))
}

func seq(parts ...[]byte) []byte             { return tlv(asn1.ClassUniversal, asn1.TagSequence, parts...) }
func set(parts ...[]byte) []byte             { return tlv(asn1.ClassUniversal, asn1.TagSet, parts...) }
func tagged(tag int, parts ...[]byte) []byte { return tlv(asn1.ClassContextSpecific, tag, parts...) }
func enc(v any) []byte                       { return must(asn1.Marshal(v)) }

func algorithm(id asn1.ObjectIdentifier) []byte { return seq(enc(id)) }

// encode makes the answer of its parts, as RFC 3161 and RFC 5652 write it.
func (a *Authority) encode(p Parts) []byte {
	status := seq(enc(p.Status))
	if p.Status > 1 {
		return seq(status)
	}
	info := [][]byte{
		enc(p.Version), enc(asn1.ObjectIdentifier{1, 2, 3, 4}), seq(algorithm(p.Digest), enc(p.Imprint)), enc(7),
		must(asn1.MarshalWithParams(p.Time.UTC(), "generalized")), seq(enc(1)), // accurate to a second
	}
	if p.Nonce != nil {
		info = append(info, enc(p.Nonce))
	}
	if p.Extensions != nil {
		var all [][]byte
		for _, e := range p.Extensions {
			all = append(all, enc(e))
		}
		info = append(info, tagged(1, all...))
	}
	content := seq(info...)
	sum := sha256.Sum256(content)
	attributes := [][]byte{
		seq(enc(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}), set(enc(p.Signed))),
		seq(enc(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}), set(enc(sum[:]))),
	}
	if p.Named != nil {
		named := sha256.Sum256(p.Named)
		id := asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}
		attributes = append(attributes, seq(enc(id), set(seq(seq(seq(enc(named[:])))))))
	}
	signed := sha256.Sum256(set(attributes...))
	signature := must(a.key.Sign(rand.Reader, signed[:], nil))
	p.Spoil(signature)
	signer := seq(enc(1), seq(a.leaf.RawIssuer, enc(big.NewInt(2))), algorithm(oidSHA256), tagged(0, attributes...),
		algorithm(asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}), enc(signature))
	data := [][]byte{enc(3), set(algorithm(oidSHA256)), seq(enc(p.Kind), tagged(0, enc(p.Swap(content))))}
	if p.Certificate != nil {
		data = append(data, tagged(0, p.Certificate))
	}
	data = append(data, set(slices.Repeat([][]byte{signer}, p.Signers)...))
	return seq(status, seq(enc(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}), tagged(0, seq(data...))))
}
