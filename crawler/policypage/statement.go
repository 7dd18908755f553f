package policypage

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Statement is the public identity of a crawler.
type Statement struct {
	Token     string // for robots.txt
	UserAgent string // of requests
	Operator  string
	Purpose   string
	Contact   string         // a mailbox or an http(s) URL
	Retention string         // how long data is kept
	Ranges    []netip.Prefix // addresses of requests; none if they are not fixed
	Key       string         // verifier key of ledgers; empty without one
	Earlier   []EarlierKey   // replaced keys, the oldest first
	Directory string         // key directory of signed requests; empty if requests are not signed
	URL       string         // of the page; empty if not known yet
	Made      time.Time
}

// An EarlierKey is a replaced verifier key.
type EarlierKey struct {
	Key   string
	Until time.Time
}

// Limits in characters of text, and in ranges.
const (
	MaxOperator  = 200
	MaxPurpose   = 2000
	MaxRetention = 1000
	MaxRanges    = 1000
	maxURL       = 2048
)

// Text returns an error unless s can be one paragraph of at most most characters.
func Text(s string, most int) error {
	switch {
	case strings.TrimSpace(s) == "":
		return errors.New("it is empty")
	case !utf8.ValidString(s):
		return errors.New("it is not UTF-8")
	case utf8.RuneCountInString(s) > most:
		return fmt.Errorf("it has over %d characters", most)
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(s[i:])
		return fmt.Errorf("it has the control character %q", r)
	}
	return nil
}

// PageURL returns an error unless s can be the URL of the page, beside which the other documents are.
func PageURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || len(s) > maxURL:
		return errors.New("write an http or https URL, like https://www.your-domain.org/crawler.html")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(s, "#"):
		return errors.New("a page that others have to find has no user name, query or fragment in its URL")
	case strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsGraphic(r) || r == ' ' }) >= 0:
		return errors.New("write it in ASCII, without spaces: %20 for a space")
	}
	return nil
}

// ParseRange parses an address or a network. It clears bits below the length.
func ParseRange(s string) (netip.Prefix, error) {
	s = strings.TrimSpace(s)
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || p.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is not a network: write it like 192.0.2.0/28 or 2001:db8::/48", s)
	}
	return p.Masked(), nil
}

// SortRanges returns ranges in order without duplicates.
func SortRanges(ps []netip.Prefix) []netip.Prefix {
	ps = slices.Clone(ps)
	slices.SortFunc(ps, netip.Prefix.Compare)
	return slices.Compact(ps)
}

// The names of the documents beside the page.
const (
	RangesName = "crawler-ranges.json"
	CardName   = "agent-card.json"
)

// PageName returns the name of the page's file: the last segment of its URL, or index.html.
func (s *Statement) PageName() string {
	u, err := url.Parse(s.URL)
	if err != nil || s.URL == "" || u.Path == "" || strings.HasSuffix(u.Path, "/") {
		return "index.html"
	}
	name := path.Base(u.Path)
	if strings.ContainsAny(name, "\\:\x00") || name == "." || name == ".." {
		return "index.html"
	}
	if !strings.Contains(name, ".") { // served without its extension
		name += ".html"
	}
	return name
}

// beside returns the URL of a document beside the page; only its name if the page's URL is not known.
func (s *Statement) beside(name string) string {
	u, err := url.Parse(s.URL)
	if err != nil || s.URL == "" {
		return name
	}
	return u.ResolveReference(&url.URL{Path: name}).String()
}

// ContactURI returns a contact as the target of a link.
func ContactURI(contact string) string {
	if strings.Contains(contact, "://") || contact == "" {
		return contact
	}
	return "mailto:" + contact
}

// https returns s if it is an https URL, as drafts demand of some members, else "".
func https(s string) string {
	if strings.HasPrefix(s, "https://") {
		return s
	}
	return ""
}

// Mark is in the beginning of each JSON document: readers must ignore unknown members (jafar 2.4, registry 2).
const Mark = `"generator": "curtsy identity"`

const generator = "curtsy identity"

// rangesJSON is the top-level object of JAFAR (2.1).
type rangesJSON struct {
	Generator    string       `json:"generator"`
	SyncToken    string       `json:"synctoken,omitempty"`
	CreationTime string       `json:"creationTime"`
	Notes        string       `json:"notes,omitempty"`
	Prefixes     []prefixJSON `json:"prefixes"`
}

// prefixJSON is a Prefix Object (2.3): exactly one of the first two.
type prefixJSON struct {
	IPv4     *string  `json:"ipv4Prefix,omitempty"`
	IPv6     *string  `json:"ipv6Prefix,omitempty"`
	Services []string `json:"services,omitempty"`
}

// jafarTime is the format of creationTime: ISO 8601 in UTC.
const jafarTime = "2006-01-02T15:04:05Z"

// RangesJSON returns the address ranges of s, which may be empty (2.1).
func (s *Statement) RangesJSON() ([]byte, error) {
	doc := rangesJSON{Generator: generator, CreationTime: s.Made.UTC().Format(jafarTime), Prefixes: []prefixJSON{}}
	sum := sha256.New()
	for _, p := range SortRanges(s.Ranges) {
		text := p.String()
		entry := prefixJSON{Services: []string{s.Token}}
		if p.Addr().Is4() {
			entry.IPv4 = &text
		} else {
			entry.IPv6 = &text
		}
		doc.Prefixes = append(doc.Prefixes, entry)
		fmt.Fprintf(sum, "%s %s\n", text, s.Token)
	}
	doc.SyncToken = hex.EncodeToString(sum.Sum(nil)[:8]) // changes with the ranges
	doc.Notes = "Addresses of the crawler " + s.Token + ", run by " + s.Operator + "."
	if len(doc.Prefixes) == 0 {
		doc.Notes += " It has no fixed addresses to declare."
	}
	if s.URL != "" {
		doc.Notes += " Its page: " + s.URL
	}
	return marshal(doc)
}

func marshal(doc any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		return nil, fmt.Errorf("policypage: %w", err)
	}
	return b.Bytes(), nil
}

// Ranges are a parsed document of address ranges.
type Ranges struct {
	Created  time.Time
	Prefixes []netip.Prefix
	Services [][]string // of each prefix
	Ignored  int        // invalid prefix objects
}

// ErrFormat is wrapped by the error of a malformed document.
var ErrFormat = errors.New("not of its format")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrFormat, fmt.Errorf(format, args...))
}

// ReadRanges parses a JAFAR document. It ignores unknown members, and prefix objects with both or neither of the prefixes
// (2.3).
func ReadRanges(b []byte, mediaType string) (Ranges, error) {
	if err := jafarVersion(mediaType); err != nil {
		return Ranges{}, err
	}
	var doc struct {
		CreationTime *string            `json:"creationTime"`
		Prefixes     *[]json.RawMessage `json:"prefixes"`
	}
	if err := object(b, &doc); err != nil {
		return Ranges{}, err
	}
	switch {
	case doc.CreationTime == nil:
		return Ranges{}, malformed("it has no creationTime")
	case doc.Prefixes == nil:
		return Ranges{}, malformed("it has no array prefixes")
	case len(*doc.Prefixes) > 100*MaxRanges:
		return Ranges{}, malformed("it has %d prefixes", len(*doc.Prefixes))
	}
	r := Ranges{}
	var err error
	if r.Created, err = time.Parse(time.RFC3339, *doc.CreationTime); err != nil || !strings.HasSuffix(*doc.CreationTime, "Z") {
		return Ranges{}, malformed("its creationTime %.40q is not a time in UTC, as 2026-05-03T14:30:00Z is", *doc.CreationTime)
	}
	for i, raw := range *doc.Prefixes {
		var one prefixJSON
		if err := json.Unmarshal(raw, &one); err != nil || (one.IPv4 == nil) == (one.IPv6 == nil) {
			r.Ignored++
			continue
		}
		text := one.IPv4
		if text == nil {
			text = one.IPv6
		}
		p, err := netip.ParsePrefix(*text)
		if err != nil || p.Addr().Is4() != (one.IPv4 != nil) {
			return Ranges{}, malformed("prefix %d: %.60q is not a network of its kind", i+1, *text)
		}
		r.Prefixes, r.Services = append(r.Prefixes, p.Masked()), append(r.Services, one.Services)
	}
	return r, nil
}

// jafarVersion returns an error for an unknown major version (3.2). Without a version it is the latest.
func jafarVersion(mediaType string) error {
	kind, parameters, err := mime.ParseMediaType(mediaType)
	if err != nil || kind != "application/jafar+json" || parameters["version"] == "" {
		return nil
	}
	major, _, _ := strings.Cut(parameters["version"], ".")
	if n, err := strconv.Atoi(major); err != nil || n > 1 {
		return malformed("it is of version %.20q, and this program knows 1", parameters["version"])
	}
	return nil
}

// object parses a JSON object.
func object(b []byte, to any) error {
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\ufeff")))
	if len(b) == 0 || b[0] != '{' {
		return malformed("it is not a JSON object")
	}
	if err := json.Unmarshal(b, to); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && kind.Field != "" {
			word := kind.Type.Kind().String()
			word = cmp.Or(map[string]string{
				"slice": "array", "struct": "object", "map": "object", "ptr": "value of its kind"}[word], word)
			return malformed("its member %.40q must be of type %s", kind.Field, word)
		}
		return malformed("it is not JSON")
	}
	return nil
}

// cardJSON is a Signature Agent Card (registry-03, 2).
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

// CardJSON returns the signature agent card of s. client_id and ips_uri are https URLs or missing (2.1.1, 2.2).
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

// A Card is a parsed signature agent card.
type Card struct {
	ClientID, ClientURI string
	Contacts            []string
	JWKSURI             string
	Keys                *KeySet // in the card itself
	Bot                 bool    // has a web_bot_auth object
	Token, Trigger      string
	Purpose             string
	UserAgents          []string
	RangesURI           string
	Complies            bool // claims to obey robots.txt
}

// ReadCard parses a signature agent card. It ignores members of an unexpected type (2).
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
	// A list of directives in registry-03; a boolean in the editors' copy of its successor.
	c.Complies = len(texts(bot["rfc9309-compliance"])) > 0 || strings.TrimSpace(string(bot["rfc9309-compliance"])) == "true"
	return c, nil
}

// text returns a JSON string, empty for any other value.
func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // leaves s empty on an error
	return s
}

// texts returns an array of JSON strings, or a single one.
func texts(raw json.RawMessage) (all []string) {
	if s := text(raw); s != "" {
		return []string{s}
	}
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// matches reports whether a User-Agent begins with a pattern, in which a star matches any text (2.2.1).
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

// A KeySet is a parsed key directory.
type KeySet struct {
	Ed25519 []string // thumbprints of its Ed25519 keys (RFC 7638, RFC 8037)
	Others  int      // keys of other kinds
}

const maxKeys = 1000 // of a directory

// ReadKeys parses a JWK Set (RFC 7517 5). A kid other than the thumbprint is an error: verifiers find keys by it.
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
		sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(x) + `"}`))
		print := base64.RawURLEncoding.EncodeToString(sum[:])
		if k.Kid != "" && k.Kid != print {
			return KeySet{}, malformed("key %d: its kid is %.60q, and its thumbprint %s", i+1, k.Kid, print)
		}
		set.Ed25519 = append(set.Ed25519, print)
	}
	return set, nil
}
