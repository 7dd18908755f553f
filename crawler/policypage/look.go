package policypage

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Wanted is what should be published: a statement, and what the operator says beside it. Nothing is asked of the page for
// what of it is empty.
type Wanted struct {
	Statement
	Carried    string       // the contact that requests carry
	SigningKey string       // thumbprint of the key that requests are signed with; empty if they are not
	RangesKept bool         // Ranges are those of the settings, none included; else nobody said
	Addresses  []netip.Addr // that the machine's requests come from, as far as the operator names them
	Now        time.Time
}

// An Answer is what asking for a document brought.
type Answer struct {
	URL       string // where the answer came from
	Redirects []string
	Status    int
	Type      string // its media type
	Body      []byte
	Trouble   string // why there is no answer, or not a whole one; in plain words
	Silent    bool   // nobody answered
}

// Ask asks for the document at a URL.
type Ask func(ctx context.Context, url string) (Answer, error)

// A Result says how what is published stands to the settings.
type Result string

// The results. All but Agrees and Unknown are disagreements.
const (
	Agrees  Result = "agrees"
	Differs Result = "differs"
	Missing Result = "missing" // it is not published
	Unknown Result = "unknown" // the settings do not say
)

// A Check is one question to what is published.
type Check struct {
	Subject   string `json:"subject"`
	Document  string `json:"document"` // page, ranges, card or keys
	Result    Result `json:"result"`
	Published string `json:"published,omitempty"`
	Wanted    string `json:"settings,omitempty"`
	Note      string `json:"note,omitempty"`
}

// A Document is one that was asked for.
type Document struct {
	Name      string   `json:"document"`
	URL       string   `json:"url"`
	Redirects []string `json:"redirects,omitempty"` // where they led, in their order
	Status    int      `json:"status,omitempty"`
	Bytes     int      `json:"bytes"`
	Trouble   string   `json:"trouble,omitempty"`
}

// Findings are what a look found.
type Findings struct {
	Agree     bool       `json:"agrees"`
	Silent    bool       `json:"-"` // nobody answered for the page
	Documents []Document `json:"documents"`
	Checks    []Check    `json:"checks"`
	Notes     []string   `json:"notes,omitempty"`
}

// The documents.
const (
	pageDocument   = "page"
	rangesDocument = "ranges"
	cardDocument   = "card"
	keysDocument   = "keys"
)

// Look asks for what is published at a URL and beside it, and holds it against what is wanted. An error is one of ask.
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

// get asks for a document, and says whether it is there.
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

// check adds a check; agrees says whether its value is the wanted one.
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

// same adds the check of a value that is published as it is.
func (l *looking) same(document, subject, published, want string) {
	l.check(Check{Subject: subject, Document: document, Published: published, Wanted: want}, published == want)
}

// page looks at the page, and at what it links.
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
		l.said(&p, v.subject, v.want)
	}
	l.contact(&p, at, a.URL)
	if _, ok := p.Marked["range"]; ok || len(p.Marked["no-ranges"]) > 0 {
		if l.want.RangesKept {
			l.ranges(pageDocument, parseAll(p.Marked["range"]))
		}
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

// said checks a value that people read on the page.
func (l *looking) said(p *Published, subject, want string) {
	published, agrees := p.says(subject, want)
	if agrees && want != "" {
		published = want
	}
	l.check(Check{Subject: subject, Document: pageDocument, Published: published, Wanted: want}, agrees)
}

// contact checks how people reach the operator: by the page, and by requests, which lead to the page or to whom it names.
func (l *looking) contact(p *Published, at, final string) {
	if l.want.Contact != "" && p.leadsTo(ContactURI(l.want.Contact)) && len(p.Marked["contact"]) == 0 {
		l.add(Check{Subject: "contact", Document: pageDocument, Result: Agrees, Published: l.want.Contact, Wanted: l.want.Contact})
	} else {
		l.said(p, "contact", l.want.Contact)
	}
	c := Check{Subject: "contact of requests", Document: pageDocument, Wanted: l.want.Carried, Result: Differs}
	published, stands := p.says("contact", l.want.Carried)
	switch {
	case l.want.Carried == "":
		c.Result = Unknown
	case l.want.Carried == at || l.want.Carried == final:
		c.Result, c.Published = Agrees, l.want.Carried
	case stands || p.leadsTo(ContactURI(l.want.Carried)):
		c.Result, c.Published = Agrees, l.want.Carried
		l.note("requests carry %s: with --contact %s they would lead to this page", l.want.Carried, at)
	default:
		c.Published = published
		c.Note = "requests lead neither to this page nor to a contact on it"
	}
	l.add(c)
}

// parseAll are the ranges that a page lists; one that is none is the zero Prefix, which agrees with nothing.
func parseAll(texts []string) (ps []netip.Prefix) {
	for _, t := range texts {
		p, _ := ParseRange(t)
		ps = append(ps, p)
	}
	return ps
}

// ranges checks the ranges that a document has.
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

// difference names what one of two lists has and the other has not.
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

// secure reports whether a URL is one of https, and notes a document that is not.
func (l *looking) secure(what, at string) {
	if u, err := url.Parse(at); err == nil && u.Scheme != "https" {
		l.note("the %s is not published over https: anyone on the network path can change it", what)
	}
}
