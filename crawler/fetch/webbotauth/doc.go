// Package webbotauth signs requests with Web Bot Auth (draft-ietf-webbotauth-httpsig-protocol, RFC 9421) and makes the
// key directory that sites verify signatures by.
//
// A signature covers the authority and the Signature-Agent field, which names where the keys are published, and has a
// short life. Path and query are not covered, as the drafts allow. The only algorithm is Ed25519. The form of
// Signature-Agent differs between drafts; the table drafts has all differences.
//
// The verifier in crawler/crawltest shares no code with this package, so that each is a check on the other. The package
// makes no requests and reads no files; its types may be used concurrently.
package webbotauth
