// Package botauth verifies the signatures of Web Bot Auth (draft-ietf-webbotauth-httpsig-protocol on RFC 9421) that come
// with requests, as a site would: for the referee, who judges any crawler. It shares no code with what signs ours.
//
// A request is None (not signed), Verified, Invalid or Unverified, the three outcomes that the draft keeps apart. It is
// Invalid only where every draft since architecture-02 says so: a field that cannot be read, an authority that is not
// covered, a Signature-Agent that is sent and not covered, a time that is over or to come, a key that the directory has
// not, a signature that does not fit. It is Unverified where this package knows too little: no directory was given, or
// the signature covers a component that is not read here.
//
// Whatever is read was written by strangers: the fields of a request are read up to 16 KiB and eight signatures, a
// directory up to 1 MiB and a thousand keys; words of strangers are quoted and cut in what is said of them.
package botauth
