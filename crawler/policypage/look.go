package policypage

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html"
	"html/template"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Wanted has the values to be published. Empty values are not checked.
type Wanted struct {
	Statement
	Carried    string       // the contact that requests carry
	SigningKey string       // thumbprint of the signing key; empty if requests are not signed
	RangesKept bool         // Ranges are those of the settings, even if empty; else they are unknown
	Addresses  []netip.Addr // of the machine's requests, if the operator names them
	Now        time.Time
}

// An Answer is the response for a document.
type Answer struct {
	URL       string // after redirects
	Redirects []string
	Status    int
	Type      string // media type
	Body      []byte
	Trouble   string // reason for an incomplete or missing response, for people
	Silent    bool   // no response
}

// Ask fetches the document at a URL.
type Ask func(ctx context.Context, url string) (Answer, error)

// A Result compares a published value with the settings.
type Result string

// The results. All except Agrees and Unknown are disagreements.
const (
	Agrees  Result = "agrees"
	Differs Result = "differs"
	Missing Result = "missing" // not published
	Unknown Result = "unknown" // not in the settings
)

// A Check is the comparison of one value.
type Check struct {
	Subject   string `json:"subject"`
	Document  string `json:"document"` // page, ranges, card or keys
	Result    Result `json:"result"`
	Published string `json:"published,omitempty"`
	Wanted    string `json:"settings,omitempty"`
	Note      string `json:"note,omitempty"`
}

// A Document is one that was fetched.
type Document struct {
	Name      string   `json:"document"`
	URL       string   `json:"url"`
	Redirects []string `json:"redirects,omitempty"` // targets, in order
	Status    int      `json:"status,omitempty"`
	Bytes     int      `json:"bytes"`
	Trouble   string   `json:"trouble,omitempty"`
}

// Findings are the result of Look.
type Findings struct {
	Agree     bool       `json:"agrees"`
	Silent    bool       `json:"-"` // no response for the page
	Documents []Document `json:"documents"`
	Checks    []Check    `json:"checks"`
	Notes     []string   `json:"notes,omitempty"`
}

const (
	pageDocument   = "page"
	rangesDocument = "ranges"
	cardDocument   = "card"
	keysDocument   = "keys"
)

// Look fetches the page at a URL and its documents, and compares them with want. An error is one of ask.
func Look(ctx context.Context, at string, want Wanted, ask Ask) (Findings, error) {
	l := looking{want: want, ask: ask, found: Findings{Documents: []Document{}, Checks: []Check{}}}
	if err := l.page(ctx, at); err != nil {
		return Findings{}, err
	}
	l.found.Agree = !slices.ContainsFunc(l.found.Checks, func(c Check) bool { return c.Result == Differs || c.Result == Missing })
	return l.found, nil
}

type looking struct {
	want  Wanted
	ask   Ask
	found Findings
}

// get fetches a document and reports whether it exists.
func (l *looking) get(ctx context.Context, name, at string) (a Answer, ok bool, err error) {
	if a, err = l.ask(ctx, at); err != nil {
		return a, false, err
	}
	d := Document{Name: name, URL: at, Redirects: a.Redirects, Status: a.Status, Bytes: len(a.Body), Trouble: a.Trouble}
	if d.Trouble == "" && len(a.Body) > MaxDocument {
		d.Trouble = fmt.Sprintf("it is larger than %d bytes", MaxDocument)
	}
	if d.Trouble == "" && a.Status != 200 {
		d.Trouble = fmt.Sprintf("status %d", a.Status)
	}
	l.found.Documents = append(l.found.Documents, d)
	if d.Trouble != "" {
		l.add(Check{Subject: "document", Document: name, Result: Missing, Note: d.Trouble})
	}
	if a.URL == "" {
		a.URL = at
	}
	return a, d.Trouble == "", nil
}

func (l *looking) add(c Check) { l.found.Checks = append(l.found.Checks, c) }

func (l *looking) note(format string, args ...any) {
	l.found.Notes = append(l.found.Notes, fmt.Sprintf(format, args...))
}

// check adds a check and sets its result.
func (l *looking) check(c Check, agrees bool) {
	switch {
	case c.Wanted == "":
		c.Result = Unknown
	case agrees:
		c.Result = Agrees
	case c.Published == "":
		c.Result = Missing
	default:
		c.Result = Differs
	}
	l.add(c)
}

// same checks a value that must be equal.
func (l *looking) same(document, subject, published, want string) {
	l.check(Check{Subject: subject, Document: document, Published: published, Wanted: want}, published == want)
}

// page checks the page and the documents that it links.
func (l *looking) page(ctx context.Context, at string) error {
	a, ok, err := l.get(ctx, pageDocument, at)
	if err != nil || !ok {
		l.found.Silent = a.Silent
		return err
	}
	p, err := ReadPage(a.Body)
	if err != nil {
		l.add(Check{Subject: "document", Document: pageDocument, Result: Differs, Note: err.Error()})
		return nil
	}
	for _, v := range []struct{ subject, want string }{
		{"token", l.want.Token}, {"operator", l.want.Operator}, {"purpose", l.want.Purpose},
		{"retention", l.want.Retention}, {"key", l.want.Key},
	} {
		l.checkText(&p, v.subject, v.want)
	}
	l.contact(&p, at, a.URL)
	if listed := p.Marked["range"]; l.want.RangesKept && (listed != nil || len(p.Marked["no-ranges"]) > 0) {
		var have []netip.Prefix
		for _, text := range listed {
			prefix, _ := ParseRange(text) // an invalid one is the zero Prefix, which matches no range
			have = append(have, prefix)
		}
		l.ranges(pageDocument, have)
	}
	ranges := p.link("client-ranges", a.URL)
	if ranges == "" {
		l.add(Check{Subject: "link", Document: pageDocument, Result: Missing,
			Note: `no <link rel="client-ranges"> to the address ranges`})
	} else if err := l.published(ctx, ranges); err != nil {
		return err
	}
	card := p.link("describedby", a.URL)
	if card == "" {
		l.add(Check{Subject: "link", Document: pageDocument, Result: Missing,
			Note: `no <link rel="describedby"> to the signature agent card`})
		return nil
	}
	return l.card(ctx, card, ranges, at, a.URL)
}

// checkText checks a value in the text of the page.
func (l *looking) checkText(p *Published, subject, want string) {
	published, agrees := p.has(subject, want)
	if agrees && want != "" {
		published = want
	}
	l.check(Check{Subject: subject, Document: pageDocument, Published: published, Wanted: want}, agrees)
}

// contact checks the contact on the page, and that the one in requests is the page or a contact on it.
func (l *looking) contact(p *Published, at, final string) {
	if l.want.Contact != "" && p.leadsTo(ContactURI(l.want.Contact)) && len(p.Marked["contact"]) == 0 {
		l.add(Check{Subject: "contact", Document: pageDocument, Result: Agrees, Published: l.want.Contact, Wanted: l.want.Contact})
	} else {
		l.checkText(p, "contact", l.want.Contact)
	}
	c := Check{Subject: "contact of requests", Document: pageDocument, Wanted: l.want.Carried, Result: Differs}
	published, agrees := p.has("contact", l.want.Carried)
	switch {
	case l.want.Carried == "":
		c.Result = Unknown
	case l.want.Carried == at || l.want.Carried == final:
		c.Result, c.Published = Agrees, l.want.Carried
	case agrees || p.leadsTo(ContactURI(l.want.Carried)):
		c.Result, c.Published = Agrees, l.want.Carried
		l.note("requests carry %s: with --contact %s they would lead to this page", l.want.Carried, at)
	default:
		c.Published = published
		c.Note = "requests lead neither to this page nor to a contact on it"
	}
	l.add(c)
}

func (l *looking) ranges(document string, have []netip.Prefix) {
	have, want := SortRanges(have), SortRanges(l.want.Ranges)
	c := Check{Subject: "ranges", Document: document, Result: Agrees, Published: list(have), Wanted: list(want)}
	if !slices.Equal(have, want) {
		c.Result = Differs
		c.Note = difference(have, want)
	}
	l.add(c)
}

func list(ps []netip.Prefix) string {
	if len(ps) == 0 {
		return "none"
	}
	var all []string
	for _, p := range ps[:min(len(ps), 20)] {
		all = append(all, p.String())
	}
	if len(ps) > 20 {
		all = append(all, fmt.Sprintf("and %d more", len(ps)-20))
	}
	return strings.Join(all, ", ")
}

// difference describes the ranges that are in only one of two lists.
func difference(have, want []netip.Prefix) string {
	without := func(a, b []netip.Prefix) []netip.Prefix {
		return slices.DeleteFunc(slices.Clone(a), func(p netip.Prefix) bool { return slices.Contains(b, p) })
	}
	var said []string
	if more := without(have, want); len(more) > 0 {
		said = append(said, "published and not in the settings: "+list(more))
	}
	if less := without(want, have); len(less) > 0 {
		said = append(said, "in the settings and not published: "+list(less))
	}
	return strings.Join(said, "; ")
}

// secure notes a document that is not published over https.
func (l *looking) secure(what, at string) {
	if u, err := url.Parse(at); err == nil && u.Scheme != "https" {
		l.note("the %s is not published over https: anyone on the network path can change it", what)
	}
}

// published checks the document of address ranges.
func (l *looking) published(ctx context.Context, at string) error {
	a, ok, err := l.get(ctx, rangesDocument, at)
	if err != nil || !ok {
		return err
	}
	l.secure("list of address ranges", a.URL)
	r, err := ReadRanges(a.Body, a.Type)
	if err != nil {
		l.add(Check{Subject: "document", Document: rangesDocument, Result: Differs, Note: "JAFAR: " + err.Error()})
		return nil
	}
	// A list may contain ranges of other crawlers; a prefix without services is for all (2.3).
	var ours []netip.Prefix
	for i, p := range r.Prefixes {
		if s := r.Services[i]; len(s) == 0 || slices.Contains(s, l.want.Token) {
			ours = append(ours, p)
		}
	}
	if l.want.RangesKept {
		l.ranges(rangesDocument, ours)
	} else {
		l.add(Check{Subject: "ranges", Document: rangesDocument, Result: Unknown, Published: list(ours)})
	}
	for _, addr := range l.want.Addresses {
		c := Check{Subject: "address", Document: rangesDocument, Wanted: addr.String(), Result: Agrees}
		at := slices.IndexFunc(ours, func(p netip.Prefix) bool { return p.Contains(addr.Unmap()) })
		if at < 0 {
			c.Result, c.Note = Missing, "no published range has it"
		} else {
			c.Published = ours[at].String()
		}
		l.add(c)
	}
	switch age := l.want.Now.Sub(r.Created); {
	case age < -24*time.Hour:
		l.add(Check{Subject: "creationTime", Document: rangesDocument, Result: Differs,
			Published: r.Created.UTC().Format(jafarTime), Note: "it lies in the future"})
	case age > 24*time.Hour:
		l.note("the address ranges are %d days old: the draft requires a new file every day, which "+
			"curtsy identity init does", int(age/(24*time.Hour)))
	}
	if r.Ignored > 0 {
		l.note("%d prefixes of the address ranges are not of their format, and readers pass them over", r.Ignored)
	}
	return nil
}

// card checks the signature agent card and its keys.
func (l *looking) card(ctx context.Context, at, ranges string, page ...string) error {
	a, ok, err := l.get(ctx, cardDocument, at)
	if err != nil || !ok {
		return err
	}
	l.secure("signature agent card", a.URL)
	if len(a.Redirects) > 0 {
		l.add(Check{Subject: "document", Document: cardDocument, Result: Differs, Published: a.URL,
			Note: "it is behind a redirect, which readers of cards must not follow"})
	}
	c, err := ReadCard(a.Body)
	if err != nil {
		l.add(Check{Subject: "document", Document: cardDocument, Result: Differs, Note: "signature agent card: " + err.Error()})
		return nil
	}
	l.same(cardDocument, "client_id", c.ClientID, https(at))
	l.same(cardDocument, "ips_uri", c.RangesURI, https(ranges))
	if slices.Contains(page, c.ClientURI) {
		l.same(cardDocument, "client_uri", c.ClientURI, c.ClientURI)
	} else {
		l.same(cardDocument, "client_uri", c.ClientURI, page[0])
	}
	l.same(cardDocument, "token", c.Token, l.want.Token)
	l.same(cardDocument, "purpose", squeeze(c.Purpose), squeeze(l.want.Purpose))
	contact, contacts := ContactURI(l.want.Contact), strings.Join(c.Contacts, ", ")
	agrees := contact != "" && slices.Contains(c.Contacts, contact)
	if agrees {
		contacts = contact
	}
	l.check(Check{Subject: "contact", Document: cardDocument, Wanted: contact, Published: contacts}, agrees)
	l.same(cardDocument, "trigger", c.Trigger, "crawler")
	l.check(Check{Subject: "User-Agent", Document: cardDocument, Wanted: l.want.UserAgent, Published: strings.Join(c.UserAgents, ", ")},
		slices.ContainsFunc(c.UserAgents, func(p string) bool { return matches(p, l.want.UserAgent) }))
	complies := Check{Subject: "rfc9309-compliance", Document: cardDocument, Result: Agrees, Published: "it obeys robots.txt"}
	if !c.Complies {
		complies.Result, complies.Published, complies.Note = Missing, "", "the card does not say that robots.txt is obeyed"
	}
	l.add(complies)
	return l.keys(ctx, c)
}

// directoryType is the media type of a key directory at its well-known path (httpsig-protocol 5.5).
const directoryType = "application/http-message-signatures-directory+json"

// keys checks the keys of a card, or those of its directory.
func (l *looking) keys(ctx context.Context, c Card) error {
	if l.want.Directory != "" || c.JWKSURI != "" {
		l.same(cardDocument, "jwks_uri", c.JWKSURI, l.want.Directory)
	}
	switch {
	case c.Keys != nil:
		l.keySet(*c.Keys)
		return nil
	case c.JWKSURI == "":
		l.note("the card names no key directory: requests are not signed")
		return nil
	case https(c.JWKSURI) == "":
		l.add(Check{Subject: "jwks_uri", Document: cardDocument, Result: Differs, Published: c.JWKSURI, Note: "not an https URL"})
		return nil
	}
	a, ok, err := l.get(ctx, keysDocument, c.JWKSURI)
	if err != nil || !ok {
		return err
	}
	set, err := ReadKeys(a.Body)
	if err != nil {
		l.add(Check{Subject: "document", Document: keysDocument, Result: Differs, Note: "JWK Set: " + err.Error()})
		return nil
	}
	if kind, _, _ := strings.Cut(a.Type, ";"); strings.Contains(c.JWKSURI, "/.well-known/") && strings.TrimSpace(kind) != directoryType {
		l.note("the key directory is served as %.80q: at its well-known place it has the type %s", kind, directoryType)
	}
	l.keySet(set)
	return nil
}

func (l *looking) keySet(set KeySet) {
	c := Check{Subject: "keys", Document: keysDocument, Result: Agrees, Published: strings.Join(set.Ed25519, ", "), Wanted: l.want.SigningKey}
	switch {
	case len(set.Ed25519) == 0:
		c.Result, c.Note = Missing, fmt.Sprintf("no Ed25519 key among the %d", set.Others)
	case l.want.SigningKey == "":
		c.Result = Unknown
	case !slices.Contains(set.Ed25519, l.want.SigningKey):
		c.Result, c.Note = Differs, "nobody can check the signatures of requests"
	}
	l.add(c)
}

//go:embed page.html
var pageText string

// exact escapes only where needed: templates write the plus sign of keys as a number, so that a search does not find it.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"exact": func(s string) template.HTML { return template.HTML(html.EscapeString(s)) },
}).Parse(pageText))

// PageMark begins the mark of each page, with the digest of the rest.
const PageMark = "<!-- curtsy identity sha256="

const (
	doctype = "<!DOCTYPE html>\n"
	markEnd = " -->\n"
)

// Page returns the page of s.
func (s *Statement) Page() ([]byte, error) {
	var b bytes.Buffer
	err := page.Execute(&b, struct {
		*Statement
		Sorted                       []netip.Prefix
		ContactURI, RangesAt, CardAt string
	}{s, SortRanges(s.Ranges), ContactURI(s.Contact), s.beside(RangesName), s.beside(CardName)})
	if err != nil {
		return nil, fmt.Errorf("policypage: %w", err)
	}
	rest := bytes.TrimPrefix(b.Bytes(), []byte(doctype))
	return fmt.Appendf(nil, "%s%s%s%s%s", doctype, PageMark, digest(rest), markEnd, rest), nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Edited reports whether a page was changed after Page returned it.
func Edited(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte(doctype+PageMark))
	if !ok || len(rest) < 2*sha256.Size {
		return true
	}
	sum, rest := string(rest[:2*sha256.Size]), rest[2*sha256.Size:]
	rest, ok = bytes.CutPrefix(rest, []byte(markEnd))
	return !ok || sum != digest(rest)
}
