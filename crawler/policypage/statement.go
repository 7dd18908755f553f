package policypage

import (
	"bytes"
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

// A Statement is what a crawler says of itself.
type Statement struct {
	Token     string // the name that robots.txt knows
	UserAgent string // as requests carry it
	Operator  string
	Purpose   string
	Contact   string         // a mailbox or an http(s) URL
	Retention string         // how long data is kept
	Ranges    []netip.Prefix // the addresses that requests come from; none if they are not fixed
	Key       string         // the verifier key of ledgers; empty if there is none
	Earlier   []EarlierKey   // those that it took the place of, the oldest first
	Directory string         // where the keys of signed requests are published; empty if requests are not signed
	URL       string         // where the page is published; empty if that is not known yet
	Made      time.Time
}

// An EarlierKey is a verifier key that another took the place of.
type EarlierKey struct {
	Key   string
	Until time.Time
}

// The most characters of each text, and the most ranges.
const (
	MaxOperator  = 200
	MaxPurpose   = 2000
	MaxRetention = 1000
	MaxRanges    = 1000
	maxURL       = 2048
)

// Text refuses what cannot stand on the page as one paragraph of at most so many characters.
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

// PageURL refuses what cannot be the address of the page: other documents stand beside it.
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

// ParseRange reads an address or a network. Bits below its length are cleared.
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

// SortRanges puts ranges in their order, each once.
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

// PageName is the name of the page's file: the last part of its URL where that names a file, or index.html.
func (s *Statement) PageName() string {
	u, err := url.Parse(s.URL)
	if err != nil || s.URL == "" || u.Path == "" || strings.HasSuffix(u.Path, "/") {
		return "index.html"
	}
	name := path.Base(u.Path)
	if strings.ContainsAny(name, "\\:\x00") || name == "." || name == ".." {
		return "index.html"
	}
	if !strings.Contains(name, ".") { // served without its ending
		name += ".html"
	}
	return name
}

// beside is where a document beside the page is published; its name alone if the page's URL is not known.
func (s *Statement) beside(name string) string {
	u, err := url.Parse(s.URL)
	if err != nil || s.URL == "" {
		return name
	}
	return u.ResolveReference(&url.URL{Path: name}).String()
}

// ContactURI is a contact as a link leads to it.
func ContactURI(contact string) string {
	if strings.Contains(contact, "://") || contact == "" {
		return contact
	}
	return "mailto:" + contact
}

// https returns s if that is an https URL, which drafts demand of some members, and nothing otherwise.
func https(s string) string {
	if strings.HasPrefix(s, "https://") {
		return s
	}
	return ""
}

// Mark is what each of the JSON documents has in its beginning: readers of either must ignore members that they do not
// know (jafar 2.4, registry 2).
const Mark = `"generator": "curtsy identity"`

const generator = "curtsy identity"

// rangesJSON is the top-level object of JAFAR (2.1), in the order of its table.
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

// jafarTime is how creationTime is written: ISO 8601, in UTC.
const jafarTime = "2006-01-02T15:04:05Z"

// RangesJSON writes the address ranges of s. A crawler without fixed addresses declares none, as 2.1 allows.
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
	doc.SyncToken = hex.EncodeToString(sum.Sum(nil)[:8]) // another when a range is
	doc.Notes = "Addresses of the crawler " + s.Token + ", run by " + s.Operator + "."
	if len(doc.Prefixes) == 0 {
		doc.Notes += " It has no fixed addresses to declare."
	}
	if s.URL != "" {
		doc.Notes += " Its page: " + s.URL
	}
	return marshal(doc)
}

// marshal writes a document as people read it.
func marshal(doc any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		return nil, fmt.Errorf("policypage: %w", err)
	}
	return b.Bytes(), nil
}

// Ranges are what a document of address ranges declares.
type Ranges struct {
	Created  time.Time
	Prefixes []netip.Prefix
	Services [][]string // of each prefix
	Ignored  int        // prefix objects that are none
}

// ErrFormat is the error of a document that is not of its format.
var ErrFormat = errors.New("not of its format")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrFormat, fmt.Errorf(format, args...))
}

// ReadRanges reads a JAFAR document, served with a media type. Members that it does not know it passes over, and prefix
// objects that have both or neither of the prefixes (2.3).
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

// jafarVersion refuses a document of a later major version than we know (3.2). Without a version it is the latest.
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

// object reads a document that is a single JSON object.
func object(b []byte, to any) error {
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\ufeff")))
	if len(b) == 0 || b[0] != '{' {
		return malformed("it is not a JSON object")
	}
	if err := json.Unmarshal(b, to); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && kind.Field != "" {
			return malformed("its member %.40q must be of type %s", kind.Field, plain(kind.Type.Kind().String()))
		}
		return malformed("it is not JSON")
	}
	return nil
}

// plain names a kind of value as JSON does.
func plain(kind string) string {
	switch kind {
	case "slice":
		return "array"
	case "struct", "map":
		return "object"
	case "ptr":
		return "value of its kind"
	}
	return kind
}

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
