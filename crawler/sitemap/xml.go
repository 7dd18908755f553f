package sitemap

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"curtsy/frontier/canon"
)

// reader reads an XML file.
type reader struct {
	*pass
	text *clean
	open []string  // names of the open elements, the root first
	base canon.URL // of the entry, and without one of the file
	feed canon.URL // base of the file

	entry *draft
	field string          // the entry's open field; empty for none
	value strings.Builder // its text so far
	done  bool            // the root is closed
}

// draft is an incomplete entry.
type draft struct {
	Entry
	name, prefix string // of its element
	depth        int    // of its element among the open ones
	ref          string // its address
	has          bool
	guid         string // of RSS
}

func (p *pass) readXML(text *clean) error {
	r := &reader{pass: p, text: text, base: p.in.URL, feed: p.in.URL}
	head, _ := text.r.Peek(sniffed)
	if at := declaration.FindIndex(head); at != nil { // the decoder refuses unknown versions
		n, _ := text.r.Discard(at[1])
		text.base += int64(n)
	}
	d := xml.NewDecoder(text)
	d.Strict = false
	d.Entity = xml.HTMLEntity // others stay literal
	// The text is already decoded.
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for !r.done && p.report.Finding == nil {
		text.begin()
		t, err := d.RawToken()
		if err != nil {
			r.fault(err)
			break
		}
		if err := r.token(t); err != nil {
			return err
		}
	}
	if r.entry != nil && r.entry.has {
		return r.close() // an incomplete entry counts if its address is complete
	}
	return nil
}

// fault sets the finding for an error of the decoder.
func (r *reader) fault(err error) {
	at := r.text.offset()
	syntax, isSyntax := errors.AsType[*xml.SyntaxError](err)
	switch {
	case r.text.long:
		r.stop(at, FoundToken, "")
	case len(r.open) == 0 && r.report.Format == None:
		r.stop(at, FoundNoMap, "no element")
	case errors.Is(err, io.EOF), isSyntax && syntax.Msg == "unexpected EOF":
		r.stop(at, FoundCut, "")
	case isSyntax:
		r.stop(at, FoundDamaged, syntax.Msg)
	default:
		r.stop(at, FoundDamaged, err.Error())
	}
}

func (r *reader) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		return r.start(t)
	case xml.EndElement:
		return r.end(strings.ToLower(t.Name.Local))
	case xml.CharData:
		if r.field != "" {
			most := maxField
			if r.field == "loc" || r.field == "link" || r.field == "guid" {
				most = maxLine
			}
			r.value.Write(t[:min(len(t), max(0, most-r.value.Len()))])
		}
	}
	return nil
}

var roots = map[string]Format{"urlset": URLSet, "sitemapindex": Index, "rss": RSS, "rdf": RSS, "feed": Atom}

var entries = map[Format]string{URLSet: "url", Index: "sitemap", RSS: "item", Atom: "entry"}

func (r *reader) start(t xml.StartElement) error {
	name := strings.ToLower(t.Name.Local)
	if len(r.open) == 0 {
		if r.report.Format = roots[name]; r.report.Format == None {
			r.stop(r.text.offset(), FoundNoMap, "the root element is "+strconv.Quote(name))
			return nil
		}
		r.rebase(&r.feed, r.in.URL, t)
		r.base = r.feed
	}
	r.set() // a field has only text: an open one ends here
	// In an entry only an element of the same prefix begins the next: extensions have elements of these names.
	if len(r.open) > 0 && name == entries[r.report.Format] && (r.entry == nil || r.entry.prefix == t.Name.Space) {
		return r.draft(name, t)
	}
	if len(r.open) >= maxDepth {
		r.stop(r.text.offset(), FoundDeep, "")
		return nil
	}
	parent := len(r.open) - 1
	r.open = append(r.open, strings.Clone(name))
	r.also(name, t)
	if r.entry != nil && parent == r.entry.depth {
		r.begin(name, t)
	}
	return nil
}

// draft begins an entry and ends the one before it.
func (r *reader) draft(name string, t xml.StartElement) error {
	if r.entry != nil {
		r.open = r.open[:r.entry.depth]
	}
	if err := r.close(); err != nil {
		return err
	}
	r.entry = &draft{
		name: name, prefix: strings.Clone(t.Name.Space), depth: len(r.open),
		Entry: Entry{Map: r.report.Format == Index},
	}
	r.open = append(r.open, name)
	r.rebase(&r.base, r.feed, t)
	return nil
}

func (r *reader) begin(name string, t xml.StartElement) {
	e := r.entry
	switch r.report.Format {
	case URLSet, Index:
		if t.Name.Space != e.prefix {
			return // an extension
		}
		if name == "loc" || name == "lastmod" || name == "changefreq" {
			r.field = name
		}
	case RSS:
		permalink := !strings.EqualFold(attr(t, "isPermaLink"), "false")
		if name == "link" && t.Name.Space == "" || name == "guid" && permalink || name == "pubdate" || name == "date" {
			r.field = name
		}
	case Atom:
		switch rel := strings.ToLower(strings.TrimSpace(attr(t, "rel"))); {
		case name == "updated":
			r.field = name
		case name == "link" && (rel == "" || rel == "alternate") && !e.has:
			e.ref = attr(t, "href")
			e.has = strings.TrimSpace(e.ref) != ""
		}
	}
}

// leading are the values of rel for Input.Also.
var leading = []string{"", "alternate", "enclosure", "related", "next", "prev-archive"}

// also calls Input.Also. The first alternate of an Atom entry is its address.
func (r *reader) also(name string, t xml.StartElement) {
	if r.in.Also == nil || r.report.Format != RSS && r.report.Format != Atom {
		return
	}
	ref, rel := attr(t, "href"), strings.ToLower(strings.TrimSpace(attr(t, "rel")))
	switch {
	case name == "enclosure" && r.report.Format == RSS:
		ref = attr(t, "url")
	case name != "link" || !slices.Contains(leading, rel):
		return
	case r.report.Format == Atom && r.entry != nil && !r.entry.has && (rel == "" || rel == "alternate"):
		return
	}
	if ref = strings.TrimFunc(ref, around); ref != "" && !undefined.MatchString(ref) && !spoilt(ref) {
		r.in.Also(r.base, ref)
	}
}

// end closes the open elements up to name, if that is open.
func (r *reader) end(name string) error {
	at := len(r.open) - 1
	for at >= 0 && r.open[at] != name {
		at--
	}
	if at < 0 {
		return nil
	}
	r.open = r.open[:at]
	r.set()
	r.done = at == 0
	if r.entry != nil && at <= r.entry.depth {
		return r.close()
	}
	return nil
}

// set stores the open field, if there is one.
func (r *reader) set() {
	e, field, value := r.entry, r.field, r.value.String()
	r.field = ""
	r.value.Reset()
	switch field {
	case "loc", "link":
		switch {
		case e.has:
			r.refuse(ReasonSecond)
		case strings.TrimSpace(value) != "":
			e.ref, e.has = strings.TrimFunc(value, around), true
		}
	case "guid":
		e.guid = value
	case "lastmod", "pubdate", "date", "updated":
		e.LastMod = dateOf(value)
	case "changefreq":
		e.ChangeFreq = ""
		if i := slices.IndexFunc(frequencies, func(f string) bool { return strings.EqualFold(strings.TrimSpace(value), f) }); i >= 0 {
			e.ChangeFreq = frequencies[i]
		}
	}
}

// close passes on the entry, if there is one.
func (r *reader) close() error {
	e := r.entry
	if e == nil {
		return nil
	}
	base := r.base
	r.entry, r.field, r.base = nil, "", r.feed
	if !e.has && strings.TrimSpace(e.guid) != "" {
		e.ref, e.has = strings.TrimFunc(e.guid, around), true
		base = canon.URL{} // a permalink is absolute
	}
	if !e.has {
		r.refuse(ReasonNoURL)
		return nil
	}
	if undefined.MatchString(e.ref) {
		r.refuse(ReasonEncoding)
		return nil
	}
	return r.give(base, e.ref, e.Entry)
}

// rebase sets base to xml:base, relative to outer (XML Base; RFC 4287 2). Only Atom uses it.
func (r *reader) rebase(base *canon.URL, outer canon.URL, t xml.StartElement) {
	*base = outer
	if r.report.Format != Atom {
		return
	}
	for _, a := range t.Attr {
		if a.Name.Space == "xml" && a.Name.Local == "base" {
			if u, err := outer.Resolve(a.Value); err == nil {
				*base = u
			}
		}
	}
}

func attr(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if strings.EqualFold(a.Name.Local, name) && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}
