package crawltest

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
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

type request struct {
	Method    string
	Scheme    string // http or https
	Authority string // the field Host
	Target    string // path and query, as sent
	Header    http.Header
	At        time.Time
}

type outcome int

// The outcomes.
const (
	none            outcome = iota // no signature of Web Bot Auth
	botauthVerified                // signature, key and time are right
	Invalid                        // one of them is wrong
	Unverified                     // undecidable
)

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

// Check verifies the signatures of a request and returns the worst outcome.
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
			continue
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
	want := "rsa-pss-sha512" // RFC 9421 3.3
	if _, ok := key.(ed25519.PublicKey); ok {
		want = "ed25519"
	}
	if named && alg != want {
		return invalid("alg %s, and the key is for %s", quote(alg), want)
	}
	if !fits(key, base, octets) {
		return invalid("the signature does not fit the request that came, to %s", quote(authority(r)))
	}
	return botauthVerdict{Outcome: botauthVerified}
}

// timely judges created and expires (draft, Generating HTTP Message Signature).
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

// agent judges Signature-Agent: a string, as up to architecture-03, or the covered member of a dictionary.
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

// quote escapes and shortens a client's text.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}

// base returns the signature base (RFC 9421 2.5).
func base(r request, list httpsfv.InnerList) (string, botauthVerdict) {
	var b strings.Builder
	for _, c := range list.Items {
		id, err := httpsfv.Marshal(c)
		if err != nil {
			return "", invalid("a component cannot be written: %v", err)
		}
		value, v := component(r, c)
		if v.Outcome != none {
			return "", v
		}
		b.WriteString(id + ": " + value + "\n")
	}
	params, err := httpsfv.Marshal(list)
	if err != nil {
		return "", invalid("the parameters of the signature cannot be written: %v", err)
	}
	b.WriteString(`"@signature-params": ` + params)
	return b.String(), botauthVerdict{}
}

func component(r request, c httpsfv.Item) (string, botauthVerdict) {
	name, _ := c.Value.(string)
	path, query, _ := strings.Cut(r.Target, "?")
	switch params := c.Params.Names(); {
	case len(params) == 1 && params[0] == "key" && !strings.HasPrefix(name, "@"):
		return member(r, name, c.Params)
	case len(params) > 0:
		return "", unverified("it covers %s with parameters that are not read here", quote(name))
	}
	switch name {
	case "@method":
		return r.Method, botauthVerdict{}
	case "@authority":
		return authority(r), botauthVerdict{}
	case "@scheme":
		return r.Scheme, botauthVerdict{}
	case "@target-uri":
		return r.Scheme + "://" + r.Authority + r.Target, botauthVerdict{}
	case "@request-target":
		return r.Target, botauthVerdict{}
	case "@path":
		return path, botauthVerdict{}
	case "@query":
		return "?" + query, botauthVerdict{}
	case "host": // net/http removes it from Header
		return r.Authority, botauthVerdict{}
	}
	if strings.HasPrefix(name, "@") {
		return "", unverified("it covers %s, which is not read here", quote(name))
	}
	values := field(r, name)
	if values == nil {
		return "", invalid("it covers the field %s, which the request has not", quote(name))
	}
	for i, v := range values {
		values[i] = strings.TrimSpace(v)
	}
	return strings.Join(values, ", "), botauthVerdict{}
}

// member returns the value of a member of a dictionary (RFC 9421 2.1.2).
func member(r request, name string, p *httpsfv.Params) (string, botauthVerdict) {
	key, ok := text(p, "key")
	dictionary, err := httpsfv.UnmarshalDictionary(field(r, name))
	if !ok || err != nil {
		return "", invalid("it covers a member of %s, which is not a dictionary", quote(name))
	}
	m, ok := dictionary.Get(key)
	if !ok {
		return "", invalid("it covers the member %s of %s, which is not there", quote(key), quote(name))
	}
	var value string
	switch m := m.(type) {
	case httpsfv.Item:
		value, err = httpsfv.Marshal(m)
	case httpsfv.InnerList:
		value, err = httpsfv.Marshal(m)
	}
	if err != nil {
		return "", invalid("the member %s of %s cannot be written: %v", quote(key), quote(name), err)
	}
	return value, botauthVerdict{}
}

// field returns the lines of a field; nil for none.
func field(r request, name string) (values []string) {
	for sent, v := range r.Header {
		if strings.EqualFold(sent, name) {
			values = append(values, v...)
		}
	}
	return values
}

// authority returns Host in lower case, without the scheme's default port (RFC 9421 2.2.3).
func authority(r request) string {
	implied := map[string]string{"http": ":80", "https": ":443"}[r.Scheme]
	return strings.TrimSuffix(strings.ToLower(r.Authority), implied)
}

// The bounds of a directory.
const (
	MaxDirectory = 1 << 20 // bytes
	maxKeys      = 1000
	maxModulus   = 8192 // bits of an RSA key
)

// Directory has the keys that an agent publishes, by thumbprint. Nil means unknown.
type Directory struct{ keys map[string]crypto.PublicKey }

// jwk is a JSON Web Key (RFC 7517, RFC 7518 6.3, RFC 8037 2).
type jwk struct {
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	N   string `json:"n"`
	E   string `json:"e"`
}

// ParseDirectory parses a JWK Set. It skips keys of unsupported algorithms.
func ParseDirectory(b []byte) (*Directory, error) {
	if len(b) > MaxDirectory {
		return nil, fmt.Errorf("botauth: a key directory of more than %d bytes", MaxDirectory)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, fmt.Errorf("botauth: a key directory is a JWK Set, an object with the member keys: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("botauth: a key directory of %d keys: %d are read at most", len(set.Keys), maxKeys)
	}
	d := &Directory{keys: map[string]crypto.PublicKey{}}
	for i, raw := range set.Keys {
		var k jwk
		if err := json.Unmarshal(raw, &k); err != nil {
			return nil, fmt.Errorf("botauth: key %d of the directory: %w", i+1, err)
		}
		public, thumbprint, err := k.public()
		if err != nil {
			return nil, fmt.Errorf("botauth: key %d of the directory: %w", i+1, err)
		}
		if public != nil {
			d.keys[thumbprint] = public
		}
	}
	if len(d.keys) == 0 {
		return nil, errors.New("botauth: the key directory has no key of Ed25519 or RSA")
	}
	return d, nil
}

// public returns the key, nil if it is of another kind, and its thumbprint (RFC 7638 3).
func (k jwk) public() (key crypto.PublicKey, thumbprint string, err error) {
	var members string
	switch {
	case k.Kty == "OKP" && k.Crv == "Ed25519":
		x, err := decode(k.X)
		if err != nil || len(x) != ed25519.PublicKeySize {
			return nil, "", fmt.Errorf("x is not a public key of Ed25519")
		}
		key, members = ed25519.PublicKey(x), `{"crv":"Ed25519","kty":"OKP","x":"`+k.X+`"}`
	case k.Kty == "RSA":
		n, nerr := decode(k.N)
		e, eerr := decode(k.E)
		if nerr != nil || eerr != nil || len(n) > maxModulus/8 || len(e) > 4 || len(n) == 0 || len(e) == 0 {
			return nil, "", fmt.Errorf("n and e are not a public key of RSA of at most %d bits", maxModulus)
		}
		key = &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
		members = `{"e":"` + k.E + `","kty":"RSA","n":"` + k.N + `"}`
	default:
		return nil, "", nil
	}
	sum := sha256.Sum256([]byte(members))
	return key, base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// decode accepts one spelling of base64url, so that a key has one thumbprint.
func decode(s string) ([]byte, error) { return base64.RawURLEncoding.Strict().DecodeString(s) }
