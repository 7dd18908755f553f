package policypage

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// cardJSON is a Signature Agent Card (registry-03, 2), in the order of its example.
type cardJSON struct {
	Generator string   `json:"generator"`
	ClientID  string   `json:"client_id,omitempty"`
	Name      string   `json:"client_name"`
	ClientURI string   `json:"client_uri,omitempty"`
	Contacts  []string `json:"contacts"`
	JWKSURI   string   `json:"jwks_uri,omitempty"`
	Bot       botJSON  `json:"web_bot_auth"`
}

type botJSON struct {
	UserAgent   string   `json:"expected-user-agent"`
	Token       string   `json:"rfc9309-product-token"`
	Compliance  []string `json:"rfc9309-compliance"`
	Trigger     string   `json:"trigger"`
	Purpose     string   `json:"purpose"`
	RateControl string   `json:"rate-control"`
	Rate        string   `json:"rate-expectation"`
	KnownURLs   []string `json:"known-urls"`
	RangesURI   string   `json:"ips_uri,omitempty"`
}

// CardJSON writes the signature agent card of s. client_id and ips_uri are https URLs or not there (2.1.1, 2.2).
func (s *Statement) CardJSON() ([]byte, error) {
	return marshal(cardJSON{
		Generator: generator, ClientID: https(s.beside(CardName)), Name: s.Token, ClientURI: s.URL,
		Contacts: []string{ContactURI(s.Contact)}, JWKSURI: s.Directory,
		Bot: botJSON{
			UserAgent: s.Token + "/*", Token: s.Token,
			Compliance: []string{"User-Agent", "Allow", "Disallow", "Crawl-delay"},
			Trigger:    "crawler", Purpose: s.Purpose,
			RateControl: "Crawl-delay in robots.txt; 429 or 503 with Retry-After; RateLimit",
			Rate:        "one request at a time to a host, at most one a second",
			KnownURLs:   []string{"/robots.txt"},
			RangesURI:   https(s.beside(RangesName)),
		},
	})
}

// A Card is what a published signature agent card says.
type Card struct {
	ClientID, ClientURI string
	Contacts            []string
	JWKSURI             string
	Keys                *KeySet // those that stand in the card itself
	Bot                 bool    // it has a web_bot_auth object
	Token, Trigger      string
	Purpose             string
	UserAgents          []string
	RangesURI           string
	Complies            bool // it claims to obey robots.txt
}

// ReadCard reads a signature agent card. Members of a kind that it does not know count as not there, as 2 demands.
func ReadCard(b []byte) (Card, error) {
	var doc map[string]json.RawMessage
	if err := object(b, &doc); err != nil {
		return Card{}, err
	}
	if len(doc) == 0 {
		return Card{}, malformed("a card has one parameter at least")
	}
	c := Card{
		ClientID: text(doc["client_id"]), ClientURI: text(doc["client_uri"]), Contacts: texts(doc["contacts"]),
		JWKSURI: text(doc["jwks_uri"]),
	}
	if raw, ok := doc["jwks"]; ok {
		set, err := ReadKeys(raw)
		if err != nil {
			return Card{}, malformed("its jwks: %w", err)
		}
		if c.Keys = &set; c.JWKSURI != "" {
			return Card{}, malformed("it has both jwks and jwks_uri")
		}
	}
	var bot map[string]json.RawMessage
	if err := json.Unmarshal(doc["web_bot_auth"], &bot); err != nil || bot == nil {
		return c, nil
	}
	c.Bot, c.Token, c.Trigger = true, text(bot["rfc9309-product-token"]), text(bot["trigger"])
	c.Purpose, c.RangesURI = text(bot["purpose"]), text(bot["ips_uri"])
	c.UserAgents = texts(bot["expected-user-agent"])
	// A list of directives in registry-03; a truth in the editors' copy of what is to follow it.
	c.Complies = len(texts(bot["rfc9309-compliance"])) > 0 || strings.TrimSpace(string(bot["rfc9309-compliance"])) == "true"
	return c, nil
}

// text is a JSON string, empty for anything else.
func text(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// texts is an array of JSON strings, or one that stands alone.
func texts(raw json.RawMessage) (all []string) {
	if s := text(raw); s != "" {
		return []string{s}
	}
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// matches reports whether a User-Agent is one that a pattern expects: the same, one that begins so, or, where the pattern
// has stars, one that begins with what stands around them (2.2.1).
func matches(pattern, agent string) bool {
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(agent, parts[0]) || pattern == "" {
		return false
	}
	agent = agent[len(parts[0]):]
	for _, part := range parts[1:] {
		at := strings.Index(agent, part)
		if at < 0 {
			return false
		}
		agent = agent[at+len(part):]
	}
	return true
}

// A KeySet is what a key directory holds.
type KeySet struct {
	Ed25519 []string // thumbprints of its Ed25519 keys (RFC 7638, RFC 8037)
	Others  int      // keys of other kinds
}

// maxKeys is the most keys of a directory that are read.
const maxKeys = 1000

// ReadKeys reads a JWK Set (RFC 7517 5). A key that calls itself by another name than its thumbprint is an error: verifiers
// find it by that name.
func ReadKeys(b []byte) (KeySet, error) {
	var doc struct {
		Keys *[]struct{ Kty, Crv, X, Kid, D string } `json:"keys"`
	}
	if err := object(b, &doc); err != nil {
		return KeySet{}, err
	}
	if doc.Keys == nil || len(*doc.Keys) > maxKeys {
		return KeySet{}, malformed("it has no array keys, or more than %d", maxKeys)
	}
	var set KeySet
	for i, k := range *doc.Keys {
		if k.D != "" {
			return KeySet{}, malformed("key %d: its secret is published: make another key", i+1)
		}
		if k.Kty != "OKP" || k.Crv != "Ed25519" {
			set.Others++
			continue
		}
		x, err := base64.RawURLEncoding.DecodeString(k.X)
		if err != nil || len(x) != ed25519.PublicKeySize {
			return KeySet{}, malformed("key %d: its x is not an Ed25519 key", i+1)
		}
		print := Thumbprint(x)
		if k.Kid != "" && k.Kid != print {
			return KeySet{}, malformed("key %d: its kid is %.60q, and its thumbprint %s", i+1, k.Kid, print)
		}
		set.Ed25519 = append(set.Ed25519, print)
	}
	return set, nil
}

// Thumbprint is that of an Ed25519 key as a JWK (RFC 7638 3, RFC 8037 2).
func Thumbprint(public ed25519.PublicKey) string {
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(public) + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
