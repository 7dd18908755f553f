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
	"slices"
	"strings"
	"time"
)

// published looks at the document of address ranges.
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
	// A list may hold those of other crawlers, too: a prefix without services is everybody's (2.3).
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

// card looks at the signature agent card, and at the keys that it names.
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
	l.among("contact", c.Contacts, ContactURI(l.want.Contact))
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

// among adds the check of a value that is published in a list.
func (l *looking) among(subject string, published []string, want string) {
	c := Check{Subject: subject, Document: cardDocument, Wanted: want, Published: strings.Join(published, ", ")}
	agrees := want != "" && slices.Contains(published, want)
	if agrees {
		c.Published = want
	}
	l.check(c, agrees)
}

// directoryType is the media type of a key directory at its well-known place (httpsig-protocol 5.5).
const directoryType = "application/http-message-signatures-directory+json"

// keys looks at the keys that a card has, or at the directory that it names.
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

var page = template.Must(template.New("page").Funcs(template.FuncMap{"exact": exact}).Parse(pageText))

// exact is a text whose characters all stand in the source but for those that cannot: templates write the plus sign of
// keys as a number, which nobody finds who searches the file.
func exact(s string) template.HTML { return template.HTML(html.EscapeString(s)) }

// PageMark begins the mark of each page, which says what of it curtsy wrote.
const PageMark = "<!-- curtsy identity sha256="

const (
	doctype = "<!DOCTYPE html>\n"
	markEnd = " -->\n"
)

// Page writes the page of s.
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

// Edited reports whether somebody changed a page after Page had written it. One without our mark is no page of ours, and
// edited.
func Edited(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte(doctype+PageMark))
	if !ok || len(rest) < 2*sha256.Size {
		return true
	}
	sum, rest := string(rest[:2*sha256.Size]), rest[2*sha256.Size:]
	rest, ok = bytes.CutPrefix(rest, []byte(markEnd))
	return !ok || sum != digest(rest)
}
