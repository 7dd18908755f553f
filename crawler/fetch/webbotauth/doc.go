// Package webbotauth signs requests with Web Bot Auth (draft-ietf-webbotauth-httpsig-protocol, RFC 9421).
//
//	Key ──┐
//	Agent ┼─▶ Signer.Append ─▶ Signature-Agent, Signature-Input, Signature behind the fields of a request
//	Draft ┘
//	       ─▶ Publish ─▶ the key directory, and the fields to serve it with
//
// # What is signed
//
// The authority that is asked and the Signature-Agent field, which names where the keys are published; when the
// signature was made and until when it counts, by the clock at the moment of sending. Nothing of path or query: the
// drafts ask for no more, and the short life of a signature bounds what one who copies it can do with it. The only
// algorithm is Ed25519, which is deterministic: equal requests of one second have equal signatures.
//
// # Drafts
//
// The field Signature-Agent changed its form from draft to draft, and sites verify by the draft that they know. A Draft
// says which form is sent; the table drafts is all that differs.
//
// # Why no library
//
// Signing writes one fixed shape, of values that this package makes or has checked: no structured field is parsed here.
// What reads signatures is package botauth of crawler/crawltest, which shares no code with this one, so that each is a
// check on the other.
//
// The package never speaks to the network, reads no file and keeps no state between requests; its types may be used
// concurrently.
package webbotauth
