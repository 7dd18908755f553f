// Package timestamp has a time-stamping authority (TSA) state when a checkpoint was there, by RFC 3161, and checks what
// one stated.
//
// A request carries the SHA-256 of a note's text and a random nonce. The answer is a token, signed by the authority: the
// digest, a time, the nonce. Ask sends the one and returns the other, checked. Check holds a kept answer against the text
// it is about; audit and verify call it. Split takes apart a file of several answers, one behind the other.
//
// An answer counts if all of this holds:
//
//   - it was granted, and has one signature over a TSTInfo of version 1 without critical extensions;
//   - its message imprint is the SHA-256 of the text, and its nonce that of the request, where there is one;
//   - the signed attributes name the content's type, digest and the signer's certificate (ESS, RFC 2634, 5035 and 5816),
//     each once;
//   - the signature is of that certificate's key, over a digest of the SHA-2 family;
//   - the certificate has the critical extended key usage time-stamping and no other (RFC 3161 2.3), and leads to a root
//     that the caller trusts, by certificates that were valid at the time stated.
//
// Revocation is not looked up: nothing here speaks to anybody but the authority. Its key can state any time, so a token
// is as good as the keeping of that key.
//
// The octets come from anybody. They are read by encoding/asn1 and crypto/x509 of the standard library alone, in DER as
// RFC 3161 demands, up to MaxResponse; nothing is written to. BER is refused. The libraries at hand, digitorus/timestamp
// with digitorus/pkcs7, convert BER in code that indexes past the end of hostile input, check no content type and no
// certificate's usage, and hold shared state: they stay out (docs/witness.md).
package timestamp
