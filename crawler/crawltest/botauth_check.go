package crawltest

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha512"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// The bounds of a request's fields.
const (
	maxFields     = 16 << 10 // bytes of the three fields
	maxSignatures = 8
)

// request is what came, and when.
type request struct {
	Method    string
	Scheme    string // http or https
	Authority string // the field Host
	Target    string // path and query, as sent
	Header    http.Header
	At        time.Time
}

// outcome is what a verifier comes to.
type outcome int

// The outcomes.
const (
	none            outcome = iota // no signature of Web Bot Auth
	botauthVerified                // signature, key and time are right
	Invalid                        // one of them is wrong
	Unverified                     // too little is known to decide
)

// botauthVerdict is the outcome of a request, and why it is no better.
type botauthVerdict struct {
	Outcome outcome
	Why     string
}

func invalid(format string, args ...any) botauthVerdict {
	return botauthVerdict{Invalid, fmt.Sprintf(format, args...)}
}

func unverified(format string, args ...any) botauthVerdict {
	return botauthVerdict{Unverified, fmt.Sprintf(format, args...)}
}

// Check verifies the signatures of a request; where it has several, the worst of them is the verdict.
func (d *Directory) Check(r request) botauthVerdict {
	inputs, signatures := r.Header["Signature-Input"], r.Header["Signature"]
	agent := r.Header["Signature-Agent"]
	switch {
	case len(inputs)+len(signatures)+len(agent) == 0:
		return botauthVerdict{}
	case len(inputs) == 0 || len(signatures) == 0:
		return invalid("the fields Signature-Input and Signature do not come together")
	case size(inputs)+size(signatures)+size(agent) > maxFields:
		return invalid("the fields of the signature have more than %d bytes", maxFields)
	}
	in, err := httpsfv.UnmarshalDictionary(inputs)
	if err != nil {
		return invalid("Signature-Input is not a dictionary: %v", err)
	}
	sig, err := httpsfv.UnmarshalDictionary(signatures)
	if err != nil {
		return invalid("Signature is not a dictionary: %v", err)
	}
	if len(in.Names()) > maxSignatures {
		return invalid("%d signatures; %d are read at most", len(in.Names()), maxSignatures)
	}
	verdict := botauthVerdict{}
	for _, label := range in.Names() {
		member, _ := in.Get(label)
		list, ok := member.(httpsfv.InnerList)
		if !ok {
			return invalid("Signature-Input has no list of components for %s", quote(label))
		}
		if tag, _ := text(list.Params, "tag"); tag != "web-bot-auth" {
			continue // of somebody else
		}
		if v := d.signature(r, label, list, sig); verdict.Outcome == none || v.Outcome == Invalid ||
			verdict.Outcome == botauthVerified {
			verdict = v
		}
		if verdict.Outcome == Invalid {
			break
		}
	}
	return verdict
}

// signature verifies one signature.
func (d *Directory) signature(r request, label string, list httpsfv.InnerList, all *httpsfv.Dictionary) botauthVerdict {
	member, _ := all.Get(label)
	item, _ := member.(httpsfv.Item)
	octets, ok := item.Value.([]byte)
	if !ok {
		return invalid("Signature has no bytes for %s", quote(label))
	}
	keyid, ok := text(list.Params, "keyid")
	if !ok {
		return invalid("the signature has no keyid")
	}
	if v := timely(list.Params, r.At); v.Outcome != none {
		return v
	}
	if v := botauthCovers(r, list); v.Outcome != none {
		return v
	}
	base, v := base(r, list)
	switch {
	case v.Outcome != none:
		return v
	case d == nil:
		return unverified("no key directory was given")
	}
	key, ok := d.keys[keyid]
	if !ok {
		return invalid("keyid %s is not in the key directory", quote(keyid))
	}
	alg, named := text(list.Params, "alg")
	if want := algorithm(key); named && alg != want {
		return invalid("alg %s, and the key is for %s", quote(alg), want)
	}
	if !fits(key, base, octets) {
		return invalid("the signature does not fit the request that came, to %s", quote(authority(r)))
	}
	return botauthVerdict{Outcome: botauthVerified}
}

// timely judges created and expires (the draft, Generating HTTP Message Signature).
func timely(p *httpsfv.Params, at time.Time) botauthVerdict {
	created, ok := number(p, "created")
	expires, ok2 := number(p, "expires")
	now := at.Unix()
	switch {
	case !ok || !ok2:
		return invalid("the signature does not say when it was created and expires")
	case created > now:
		return invalid("the signature was created in the future, by %d s", created-now)
	case expires < now:
		return invalid("the signature had expired, %d s before", now-expires)
	case expires < created:
		return invalid("the signature expires before it was created")
	}
	return botauthVerdict{}
}

// botauthCovers judges which components are covered.
func botauthCovers(r request, list httpsfv.InnerList) botauthVerdict {
	var names, seen []string
	for _, c := range list.Items {
		name, _ := c.Value.(string)
		whole, err := httpsfv.Marshal(c)
		if err != nil || name == "" || name != strings.ToLower(name) {
			return invalid("a component is not a name in lower case")
		}
		if slices.Contains(seen, whole) { // RFC 9421 2
			return invalid("the component %s is covered twice", quote(whole))
		}
		names, seen = append(names, name), append(seen, whole)
	}
	if !slices.Contains(names, "@authority") && !slices.Contains(names, "@target-uri") {
		return invalid("neither @authority nor @target-uri is covered")
	}
	sent := r.Header["Signature-Agent"]
	if len(sent) == 0 {
		return botauthVerdict{}
	}
	for i, name := range names {
		if name == "signature-agent" {
			return agent(sent, list.Items[i].Params)
		}
	}
	return invalid("Signature-Agent is sent and not covered")
}

// agent judges the value of Signature-Agent: a string, as it was up to architecture-03, or the covered member of a
// dictionary.
func agent(sent []string, p *httpsfv.Params) botauthVerdict {
	item, err := httpsfv.UnmarshalItem(sent)
	if key, ok := text(p, "key"); ok {
		dictionary, derr := httpsfv.UnmarshalDictionary(sent)
		if derr != nil {
			return invalid("Signature-Agent is not a dictionary: %v", derr)
		}
		member, _ := dictionary.Get(key)
		item, _ = member.(httpsfv.Item)
		err = nil
	}
	value, ok := item.Value.(string)
	u, uerr := url.Parse(value)
	if err != nil || !ok || uerr != nil || u.Scheme != "https" || u.Host == "" {
		return invalid("Signature-Agent is not an https URL: %s", quote(strings.Join(sent, ", ")))
	}
	return botauthVerdict{}
}

// algorithm names what a key is for (RFC 9421 3.3).
func algorithm(key crypto.PublicKey) string {
	if _, ok := key.(ed25519.PublicKey); ok {
		return "ed25519"
	}
	return "rsa-pss-sha512"
}

func fits(key crypto.PublicKey, base string, signature []byte) bool {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(key, []byte(base), signature)
	case *rsa.PublicKey:
		sum := sha512.Sum512([]byte(base))
		return rsa.VerifyPSS(key, crypto.SHA512, sum[:], signature, &rsa.PSSOptions{SaltLength: 64}) == nil
	}
	return false
}

func text(p *httpsfv.Params, name string) (string, bool) {
	v, _ := p.Get(name)
	s, ok := v.(string)
	return s, ok
}

func number(p *httpsfv.Params, name string) (int64, bool) {
	v, _ := p.Get(name)
	n, ok := v.(int64)
	return n, ok
}

func size(values []string) (n int) {
	for _, v := range values {
		n += len(v)
	}
	return n
}

// quote makes words of strangers fit to be read.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
