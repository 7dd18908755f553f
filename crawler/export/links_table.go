package export

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/extract"
	"curtsy/crawler/found"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
	"curtsy/storage/mediatype"
	"curtsy/storage/sorted"
	"curtsy/storage/spool"
	"curtsy/storage/tables"
	"curtsy/storage/warc"
)

// linksTable makes the rows: call Line for all ledger lines, Add for all documents, then Rows, from one goroutine.
type linksTable struct {
	reader    *linksReader
	byTarget  *sorted.Rows[linkRow] // by crawl and target: ledger lines, then places of mentions
	byPlace   *sorted.Rows[linkRow] // in the order of the table: each document, then its mentions
	documents int
	row       *filler
}

// linkRow has exactly one of its fields.
type linkRow struct {
	Head    *head       `json:",omitempty"`
	Mention *mention    `json:",omitempty"`
	Said    *ledgerLine `json:",omitempty"` // in byPlace: about the target of the next mention
	Place   string      `json:",omitempty"` // in byTarget: of a mention, which may be long and is sorted only once
}

// ledgerLine is a ledger line about the target of a mention.
type ledgerLine struct {
	Decision storage.Decision
	Outcome  storage.Outcome
	Reason   string
	Status   int
	Asked    bool // requested, by this line or an earlier one
	Time     time.Time
}

// site is the host name and domain of an authority.
type site struct{ host, domain tables.Value }

const (
	joinMemory = 6 << 20 // bytes that each sorter holds in memory
	maxReason  = 200     // bytes of a reason
)

func newTable(r *linksReader) *linksTable {
	return &linksTable{
		reader: r, byTarget: sorted.NewRows[linkRow](r.dir, joinMemory), byPlace: sorted.NewRows[linkRow](r.dir, joinMemory),
		row: newFiller(&tables.Links),
	}
}

func (t *linksTable) Close() error         { return errors.Join(t.byTarget.Close(), t.byPlace.Close()) }
func target(crawl int, u canon.URL) string { return fmt.Sprintf("%d %s", crawl, u.Key()) }

// Line adds a ledger line of a crawl, in the order of its ledger.
func (t *linksTable) Line(crawl int, l *storage.Line) error {
	u, err := canon.Parse(l.URL)
	if err != nil || l.Decision == storage.DecisionRobots || l.Decision == storage.DecisionOwner {
		return nil //nolint:nilerr // not a link's target
	}
	if j := t.reader.crawls[crawl].Scope; j != nil {
		j.line(u, l)
	}
	return t.byTarget.Add(target(crawl, u), linkRow{Said: &ledgerLine{
		Decision: l.Decision, Outcome: l.Outcome, Reason: cut(l.Reason, maxReason), Status: l.Status,
		Asked: l.Decision == storage.DecisionAllow && l.Attempt > 0, Time: l.Time,
	}})
}

// Add adds a document. Documents come in the order of the table.
func (t *linksTable) Add(d *linksDocument) error {
	t.documents++
	place := fmt.Sprintf("%010d ", t.documents)
	if err := t.byPlace.Add(place, linkRow{Head: &d.head}); err != nil {
		return err
	}
	for in := json.NewDecoder(d.says.Section()); ; {
		m := new(mention)
		if err := in.Decode(m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("links: %w", err)
		}
		at := fmt.Sprintf("%s%010d", place, m.Position)
		if err := t.byPlace.Add(at+" ", linkRow{Mention: m}); err != nil { // at is for the target's line, which comes before
			return err
		}
		if u, err := canon.Parse(m.URL); err != nil {
			continue // without a target
		} else if err := t.byTarget.Add(target(d.head.Crawl, u), linkRow{Place: at}); err != nil {
			return err
		}
	}
}

func (t *linksTable) Rows(ctx context.Context, to func(tables.Row) error) error {
	if err := t.meet(); err != nil {
		return err
	}
	d := rows{t: t}
	var of *ledgerLine // about the target of the next mention; nil if the ledger has no line
	for row, err := range t.byPlace.All() {
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
		case row.Value.Head != nil:
			err = d.begin(row.Value.Head)
		case row.Value.Said != nil:
			of = row.Value.Said
		default:
			err = d.mention(row.Value.Mention, of, to)
			of = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// meet joins each mention with the latest ledger line about its target.
func (t *linksTable) meet() error {
	var last *ledgerLine
	key := ""
	for row, err := range t.byTarget.All() {
		if err != nil {
			return err
		}
		if row.Key != key {
			key, last = row.Key, nil
		}
		if line := row.Value.Said; line != nil {
			line.Asked = line.Asked || last != nil && last.Asked
			last = line
		} else if last != nil {
			if err := t.byPlace.Add(row.Value.Place, linkRow{Said: last}); err != nil {
				return err
			}
		}
	}
	return t.byTarget.Close()
}

type rows struct {
	t      *linksTable
	head   *head
	url    canon.URL
	at     site
	begins row // columns common to all rows of the document
}

func (d *rows) mention(m *mention, s *ledgerLine, to func(tables.Row) error) error {
	r := row{d.t.row, slices.Clone(d.begins.r)}
	r.set("position", tables.Int(int32(min(m.Position, math.MaxInt32)))) //nolint:gosec // bounded
	d.says(r, m)
	if err := d.judged(r, m, s); err != nil {
		return err
	}
	return to(r.r)
}

// begin begins a document.
func (d *rows) begin(h *head) (err error) {
	if d.url, err = canon.Parse(h.URL); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	d.head, d.begins = h, d.t.row.row()
	d.begins.set("source_surtkey", tables.Text(h.Key))
	d.begins.set("fetch_time", tables.Instant(h.Time))
	d.begins.set("crawl", tables.Text(d.t.reader.crawls[h.Crawl].Name))
	d.begins.set("source_url", tables.Text(h.URL))
	d.at = siteOf(d.url)
	d.begins.set("source_host_name", d.at.host)
	d.begins.set("source_domain", d.at.domain)
	if h.Generation > 0 {
		d.begins.set("generation", tables.Long(h.Generation))
	}
	return nil
}

func siteOf(u canon.URL) site { return site{tables.Text(u.Host()), tables.Text(u.RegistrableDomain())} }

func (d *rows) says(r row, m *mention) {
	r.set("kind", tables.Text(m.Kind))
	r.set("element", tables.Some(m.Element))
	r.set("attribute", tables.Some(m.Attribute))
	if words := relWords(m.Rel); words != nil {
		r.set("rel", tables.Texts(words))
	}
	r.set("nofollow", tables.Flag(m.NoFollow || d.head.NoFollow && m.Kind != kindRedirect))
	r.set("anchor_text", tables.Some(m.Text))
	if m.Kind != kindUnread {
		r.set("target_written", tables.Text(m.Written))
	}
	r.set("repeated", tables.Flag(m.Repeated))
}

const (
	maxRels = 32 // words of a rel
	maxRel  = 64 // bytes of one
)

func relWords(rel string) (words []string) {
	for w := range strings.FieldsSeq(rel) {
		if w = strings.ToLower(cut(w, maxRel)); !slices.Contains(words, w) {
			words = append(words, w)
		}
		if len(words) == maxRels {
			break
		}
	}
	return words
}

// judged sets the columns of the target and its outcome; s is nil if the ledger has no line about it.
func (d *rows) judged(r row, m *mention, s *ledgerLine) error {
	if m.URL == "" {
		r.set("followed", tables.Flag(false))
		r.set("why_not", tables.Text(m.Why))
		return nil
	}
	u, err := canon.Parse(m.URL)
	if err != nil {
		return fmt.Errorf("links: %w", err)
	}
	at := siteOf(u)
	r.set("target_url", tables.Text(m.URL))
	r.set("target_surtkey", tables.Text(cdxj.Key(m.URL)))
	r.set("target_host_name", at.host)
	r.set("target_domain", at.domain)
	r.set("internal", tables.Flag(at.domain.Text() == d.at.domain.Text()))
	r.set("same_host", tables.Flag(u.Host() == d.url.Host()))
	rule := d.scope(r, m, u)
	if s != nil {
		r.set("target_decision", tables.Some(string(s.Decision)))
		r.set("target_outcome", tables.Some(string(s.Outcome)))
		r.set("target_reason", tables.Some(s.Reason))
		if s.Status > 0 {
			r.set("target_status", tables.Short(int16(min(s.Status, math.MaxInt16)))) //nolint:gosec // bounded
		}
		r.set("target_time", tables.Instant(s.Time))
	}
	asked := s != nil && s.Asked
	r.set("followed", tables.Flag(asked))
	switch {
	case asked:
	case m.Why != "":
		r.set("why_not", tables.Text(m.Why))
	case s != nil:
		r.set("why_not", tables.Text(cmp.Or(s.Reason, string(s.Decision))))
	case rule != "":
		r.set("why_not", tables.Text(rule))
	default:
		r.set("why_not", tables.Text(whyNoLine))
	}
	return nil
}

// scope sets whether the scope includes the target, and returns the rule that excludes it.
func (d *rows) scope(r row, m *mention, u canon.URL) (refused string) {
	j := d.t.reader.crawls[d.head.Crawl].Scope
	if j == nil {
		return ""
	}
	v := j.verdict(u, d.url, d.head, m)
	r.set("in_scope", tables.Flag(v.In))
	r.set("scope_rule", tables.Text(v.Rule))
	if v.In {
		return ""
	}
	return v.Rule
}

// judge applies the scope of a crawl to mentions.
type judge struct {
	scope *scope.Scope
	rels  extract.Rels
	chain map[string]bool // keys of seeds and of their redirect targets
}

// line adds a ledger line, in order. Seeds, and the ends of their redirects, widen the scope.
func (j *judge) line(u canon.URL, l *storage.Line) {
	switch l.Kind {
	case storage.KindSeed:
		if !j.chain[u.Key()] {
			j.chain[u.Key()] = true
			j.scope.Extend(u)
		}
	case storage.KindRedirect:
		via, err := canon.Parse(l.Via)
		if err != nil || l.Depth != 0 || !j.chain[via.Key()] {
			return
		}
		j.chain[u.Key()] = true
		if l.Outcome == storage.OutcomeFetched {
			j.scope.Extend(u)
		}
	}
}

func (j *judge) verdict(u, by canon.URL, h *head, m *mention) scope.Verdict {
	source := found.As(by, storage.Line{Kind: h.Kind, Depth: h.Depth})
	c := scope.Candidate{URL: u, Depth: h.Depth + 1, NoFollow: h.NoFollow || m.Rels&^j.rels != 0}
	switch m.Kind {
	case kindRedirect:
		c.Redirect, c.Depth, c.Embeds, c.NoFollow = true, h.Depth, source.Embeds, m.Rels&^j.rels != 0
		c.Seed = found.SeedChain(frontier.Candidate{Kind: frontier.KindRedirect, Depth: h.Depth, Embeds: c.Embeds}) && j.chain[by.Key()]
		c.Embed = c.Embeds > 0
	case kindEmbed:
		c.Depth, c.Embeds, c.Embed = h.Depth, source.Embeds+1, true
		for _, step := range []canon.URL{by, u} {
			if !j.scope.Covers(step) {
				c.Away++
			}
		}
	}
	return j.scope.Judge(c)
}

// source is an archived response.
type source struct {
	Crawl      int // index in linksReader.crawls
	Key        string
	URL        string
	Time       time.Time
	Generation int64 // 0 if unknown
	Status     int
	Header     http.Header
	Body       io.Reader // decoded; nil for none
	Size       int64     // bytes of Body, or 0
	Missing    string    // why a body is missing; empty if there was none

	// Amiss, if not nil, returns why the body is incomplete, after it was read; "" if it is complete.
	Amiss func() string
}

// crawl configures how links of a crawl are read and judged.
type crawl struct {
	Name     string
	Previews bool // see extract.Input
	Follow   extract.Follow
	Token    string
	Scope    *judge // nil leaves the columns of scope null
}

// linksReader reads responses. It is safe for concurrent use.
type linksReader struct {
	crawls  []crawl
	dir     string // of temporary files; empty = the system's folder
	extract *extract.Extractor
}

// linksDocument is the mentions in one response.
type linksDocument struct {
	head head
	n    int64
	says spool.Spool // the mentions, as lines of JSON
	err  error
}

// head has the common values of the mentions of a document.
type head struct {
	Crawl      int
	Key, URL   string
	Time       time.Time
	Generation int64
	NoFollow   bool // for the whole document
	Kind       storage.Kind
	Depth      int
}

type mention struct {
	Position           int64  // in its document, from 1
	Kind               string // a value of the column
	Element, Attribute string `json:",omitempty"`
	Rel                string `json:",omitempty"`
	Text               string `json:",omitempty"`
	Written            string `json:",omitempty"`
	URL                string `json:",omitempty"` // empty without one
	Why                string `json:",omitempty"` // why it is not a link; empty if it is one
	Repeated, NoFollow bool
	Rels               extract.Rels
}

// Values of the columns kind and why_not.
const (
	kindLink     = "link"
	kindEmbed    = "embed"
	kindRefresh  = "refresh"
	kindRedirect = "redirect"
	kindUnread   = "unread"

	whyWithin  = "same page"
	whyInert   = "no document"
	whyTooMany = "too many"
	whyNoLine  = "no decision"
)

const maxWritten = 2 << 10 // bytes of a reference or a rel

// Read reads the mentions of a response; nil if there are none. Damage in the archive is not an error.
func (r *linksReader) Read(ctx context.Context, s source) (*linksDocument, error) {
	url, err := canon.Parse(s.URL)
	if err != nil {
		return nil, nil //nolint:nilerr // no crawl requests it
	}
	d := &linksDocument{
		head: head{Crawl: s.Crawl, Key: s.Key, URL: s.URL, Time: s.Time, Generation: s.Generation},
		says: spool.Spool{Dir: r.dir, Pattern: "curtsy-links-*"},
	}
	switch {
	case s.Status >= 300 && s.Status < 400:
		err = r.redirect(d, url, s)
	case s.Status >= 200 && s.Status < 300 && s.Missing != "" && s.Body == nil:
		if r.crawls[s.Crawl].Follow.KindOf(mediatype.Value(s.Header), url.Path(), nil) != 0 {
			err = d.unread(s.Missing)
		}
	case s.Status >= 200 && s.Status < 300 && s.Body != nil:
		err = r.document(ctx, d, url, s)
	}
	if err == nil && d.n == 0 {
		return nil, d.Close()
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *linksDocument) Close() error { return d.says.Close() }

func (r *linksReader) redirect(d *linksDocument, from canon.URL, s source) error {
	written, ok := s.Header["Location"]
	if !ok || len(written) == 0 {
		return nil
	}
	m := mention{Kind: kindRedirect, Attribute: "Location", Written: written[0]}
	u, err := from.Resolve(strings.TrimSpace(written[0]))
	if err != nil {
		m.Why = string(canon.ReasonOf(err))
	}
	return d.add(&m, u)
}

func (d *linksDocument) unread(why string) error {
	return d.add(&mention{Kind: kindUnread, Why: why}, canon.URL{})
}

func (r *linksReader) document(ctx context.Context, d *linksDocument, url canon.URL, s source) error {
	head := make([]byte, 512)
	n, err := io.ReadFull(s.Body, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("links: read the body of %s: %w", s.URL, err)
	}
	head = head[:n]
	c := r.crawls[s.Crawl]
	kind := c.Follow.KindOf(mediatype.Value(s.Header), url.Path(), head)
	if kind == 0 || n == 0 {
		return nil
	}
	in := extract.Input{
		URL: url, ContentType: mediatype.Value(s.Header), Header: s.Header, Previews: c.Previews, Token: c.Token,
		Body: io.MultiReader(strings.NewReader(string(head)), s.Body), Size: s.Size, Mention: d.tell,
	}
	var page extract.Page
	if kind == extract.KindPage {
		page, err = r.extract.HTML(ctx, in)
	} else {
		page, err = r.extract.Parts(ctx, in, kind)
	}
	if err = errors.Join(err, d.err); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	d.head.NoFollow = page.Robots.NoFollow
	why := page.Unparsed
	if why == "" && s.Amiss != nil {
		why = s.Amiss()
	}
	if why != "" {
		return d.unread(why)
	}
	return nil
}

func (d *linksDocument) tell(m extract.Mention) {
	if d.err != nil {
		return
	}
	out := mention{
		Kind: kindLink, Element: m.Element, Attribute: m.Attr, Rel: m.Words, Text: m.Text, Written: m.Raw,
		Repeated: m.Fate == extract.Repeat, NoFollow: m.Rel.NoFollow, Rels: m.Rel.Rels(), Why: string(m.Reason),
	}
	switch {
	case m.Refresh:
		out.Kind = kindRefresh
	case m.Embed:
		out.Kind = kindEmbed
	}
	switch {
	case out.Why != "":
	case m.Fate == extract.Within:
		out.Why = whyWithin
	case m.Fate == extract.Inert:
		out.Why = whyInert
	case m.Fate == extract.TooMany:
		out.Why = whyTooMany
	}
	d.err = d.add(&out, m.URL)
}

// add records a mention of u, which may be zero. Its texts become valid UTF-8.
func (d *linksDocument) add(m *mention, u canon.URL) error {
	d.n++
	m.Position, m.URL = d.n, u.String()
	m.Rel, m.Written = cut(m.Rel, maxWritten), cut(m.Written, maxWritten)
	for _, s := range []*string{&m.Element, &m.Attribute, &m.Rel, &m.Text, &m.Written} {
		*s = strings.ToValidUTF8(*s, "\uFFFD")
	}
	if err := json.NewEncoder(&d.says).Encode(m); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	return nil
}

func cut(s string, n int) string { return s[:min(len(s), n)] }

// Reasons for documents that are not completely read, besides the problems of captures.
const (
	missingRevisit = "revisit"   // no index of the crawl has the original record
	cutShort       = "truncated" // the archive has only part of the response
)

func mentions(ctx context.Context, in *Inputs, out *Out) (err error) {
	var crawls []crawl
	for _, c := range in.Crawls {
		judging, err := c.judging()
		if err != nil {
			return err
		}
		crawls = append(crawls, judging)
	}
	reader := &linksReader{crawls, in.temp, in.pages}
	all := newTable(reader)
	defer func() { err = errors.Join(err, all.Close()) }()
	for i, c := range in.Crawls {
		quiet := NewOut(out.table, nil) // other tables count the damage of the ledger
		if err := c.decided(ctx, quiet, func(e *entry) error { return all.Line(i, &e.Line) }); err != nil {
			return err
		}
	}
	err = visit(ctx, in, out, visitor[*linksDocument]{
		size: fewRows,
		work: func(ctx context.Context, c *Capture) ([]*linksDocument, error) {
			d, err := c.mentions(ctx, reader, slices.Index(in.Crawls, c.Crawl))
			if d == nil || err != nil {
				return nil, err
			}
			return []*linksDocument{d}, nil
		},
		take: func(d *linksDocument) error { return errors.Join(all.Add(d), d.Close()) },
		drop: func(d *linksDocument) { _ = d.Close() },
	})
	if err != nil {
		return err
	}
	kind, why := out.table.Index("kind"), out.table.Index("why_not")
	return all.Rows(ctx, func(r tables.Row) error {
		if r[kind].Text() == kindUnread {
			out.Problems[r[why].Text()]++
		}
		return out.Row(r)
	})
}

// judging configures a crawl by its settings. Without them the columns of scope are null.
func (c *Crawl) judging() (crawl, error) {
	l := crawl{Name: c.Name}
	settings, err := crawldir.ReadSettings(c.Dir)
	if err != nil {
		return l, nil //nolint:nilerr // export works without settings
	}
	l.Token, l.Previews = settings.Agent, settings.Previews
	l.Follow, _ = extract.ParseFollow(settings.Follow)
	config, err := settings.ScopeConfig()
	if err != nil {
		return l, nil //nolint:nilerr // as above
	}
	rels, err := extract.ParseRels(settings.FollowRel)
	if err != nil {
		return l, nil //nolint:nilerr // as above
	}
	s, err := scope.New(config, nil)
	if err != nil {
		return l, fmt.Errorf("export: %w", err)
	}
	l.Scope = &judge{scope: s, rels: rels, chain: map[string]bool{}}
	return l, nil
}

// mentions reads the mentions of a capture; nil if there are none.
func (c *Capture) mentions(ctx context.Context, reader *linksReader, crawl int) (*linksDocument, error) {
	s := source{
		Crawl: crawl, Key: c.Key, URL: c.Index.URL, Time: c.Index.Time, Generation: c.Crawl.generations[c.Index.Filename],
		Status: c.Index.Status, Header: http.Header{"Content-Type": {c.Index.Mime}},
	}
	of := c
	if c.Answer != nil && c.Answer.Revisit {
		var closer io.Closer
		if of, closer = c.original(); of == nil {
			of, s.Missing = c, missingRevisit
			s.Status = http.StatusOK // it confirms a page
		} else {
			defer closer.Close()
		}
	}
	if a := of.Answer; a != nil {
		if s.Header = a.Header; s.Missing == "" {
			s.Status = a.Status
		}
		body, err := of.Body(maxPage)
		if err != nil {
			return nil, err
		}
		if body != nil {
			var input extract.Input
			if err := c.r.fill(&input, body); err != nil {
				return nil, err
			}
			s.Body, s.Size = input.Body, input.Size
			s.Amiss = func() string {
				if of.Problem == "" && of.Answer.Truncated != "" {
					return cutShort
				}
				return of.Problem
			}
		}
	}
	if s.Missing == "" {
		s.Missing = of.Problem
	}
	d, err := reader.Read(ctx, s)
	if d == nil || err != nil {
		return nil, err
	}
	if l, ok := c.Decision(); ok {
		d.head.Kind, d.head.Depth = l.Kind, l.Depth
	}
	return d, nil
}

// original returns the response that a revisit refers to; nil if no index of the crawl has it.
func (c *Capture) original() (*Capture, io.Closer) {
	refers := c.Answer.Refers
	if refers.URL == "" {
		return nil, nil
	}
	for l, err := range cdxj.Lookup(c.Crawl.index, refers.URL) {
		path, ok := c.Crawl.archive[l.Filename]
		if err != nil || !ok || !l.Time.Equal(refers.Date.Truncate(time.Second)) || l.Mime == "warc/revisit" {
			continue
		}
		rec, closer, err := warc.ReadAt(path, l.Offset)
		if err != nil {
			continue
		}
		a, err := answer.Read(rec, 0)
		if err == nil && strings.EqualFold(rec.Type, "response") && (refers.ID == "" || a.ID == refers.ID) {
			return &Capture{Crawl: c.Crawl, Index: l, Answer: a, r: c.r}, closer
		}
		closer.Close()
	}
	return nil, nil
}
