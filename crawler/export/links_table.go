package export

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/extract"
	"curtsy/crawler/found"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/sorted"
	"curtsy/storage/tables"
)

// linksTable makes the rows. It takes all lines of ledgers, then all documents, and is read afterwards, once, by one
// goroutine.
type linksTable struct {
	reader    *linksReader
	byTarget  *sorted.Rows[linkRow] // by crawl and target: the lines of the ledger, then the places of mentions
	byPlace   *sorted.Rows[linkRow] // in the order of the table: each document, then its mentions
	documents int
	row       *filler
	sites     map[string]site
}

// linkRow is one of its fields.
type linkRow struct {
	Head    *head    `json:",omitempty"`
	Mention *mention `json:",omitempty"`
	Said    *said    `json:",omitempty"` // in byPlace: of the target of the mention that follows
	Place   string   `json:",omitempty"` // in byTarget: of a mention; a mention itself can be long, and is sorted only once
}

// said is what the ledger says of the target of a mention.
type said struct {
	Decision storage.Decision
	Outcome  storage.Outcome
	Reason   string
	Status   int
	Asked    bool // in this line, or in one before it
	Time     time.Time
}

// site is what rows say of an authority.
type site struct{ host, domain tables.Value }

const (
	joinMemory = 6 << 20 // bytes that each sorter holds in memory
	maxReason  = 200     // bytes of a reason that are kept
)

// newTable makes rows of what r reads.
func newTable(r *linksReader) *linksTable {
	return &linksTable{
		reader: r, byTarget: sorted.NewRows[linkRow](r.dir, joinMemory), byPlace: sorted.NewRows[linkRow](r.dir, joinMemory),
		row: newFiller(&tables.Links), sites: map[string]site{},
	}
}

// Close frees memory and disk.
func (t *linksTable) Close() error { return errors.Join(t.byTarget.Close(), t.byPlace.Close()) }

// target is the key of a target in a crawl.
func target(crawl int, u canon.URL) string { return fmt.Sprintf("%d %s", crawl, u.Key()) }

// Line takes in a line of the ledger of a crawl. Those of one crawl come in their order.
func (t *linksTable) Line(crawl int, l *storage.Line) error {
	u, err := canon.Parse(l.URL)
	if err != nil || l.Decision == storage.DecisionRobots || l.Decision == storage.DecisionOwner {
		return nil //nolint:nilerr // nobody linked to it
	}
	if j := t.reader.crawls[crawl].Scope; j != nil {
		j.line(u, l)
	}
	return t.byTarget.Add(target(crawl, u), linkRow{Said: &said{
		Decision: l.Decision, Outcome: l.Outcome, Reason: cut(l.Reason, maxReason), Status: l.Status,
		Asked: l.Decision == storage.DecisionAllow && l.Attempt > 0, Time: l.Time,
	}})
}

// Add takes in a document. Documents come in the order that rows are to have.
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
		if err := t.byPlace.Add(at+" ", linkRow{Mention: m}); err != nil { // after what is said of its target, at the place itself
			return err
		}
		if u, err := canon.Parse(m.URL); err != nil {
			continue // no target
		} else if err := t.byTarget.Add(target(d.head.Crawl, u), linkRow{Place: at}); err != nil {
			return err
		}
	}
}

// Rows gives each row to to.
func (t *linksTable) Rows(ctx context.Context, to func(tables.Row) error) error {
	if err := t.meet(); err != nil {
		return err
	}
	d := rows{t: t}
	var of *said // the target of the next mention; nil if the ledger has no line of it
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

// meet finds what the ledgers say of each mention: what the latest line of its target says.
func (t *linksTable) meet() error {
	var last *said
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

// rows makes the rows of one document.
type rows struct {
	t      *linksTable
	head   *head
	url    canon.URL
	at     site
	begins row // what all rows of the document have
}

// mention makes the row of a mention.
func (d *rows) mention(m *mention, s *said, to func(tables.Row) error) error {
	r := row{d.t.row, slices.Clone(d.begins.r)}
	r.set("position", tables.Int(int32(min(m.Position, math.MaxInt32)))) //nolint:gosec // it is bounded
	d.says(r, m)
	if err := d.judged(r, m, s); err != nil {
		return err
	}
	return to(r.r)
}

// begin begins a document: it fills in where the mentions stand.
func (d *rows) begin(h *head) (err error) {
	if d.url, err = canon.Parse(h.URL); err != nil {
		return fmt.Errorf("links: %w", err)
	}
	d.head, d.begins = h, d.t.row.row()
	d.begins.set("source_surtkey", tables.Text(h.Key))
	d.begins.set("fetch_time", tables.Instant(h.Time))
	d.begins.set("crawl", tables.Text(d.t.reader.crawls[h.Crawl].Name))
	d.begins.set("source_url", tables.Text(h.URL))
	d.at = d.t.site(d.url)
	d.begins.set("source_host_name", d.at.host)
	d.begins.set("source_domain", d.at.domain)
	if h.Generation > 0 {
		d.begins.set("generation", tables.Long(h.Generation))
	}
	return nil
}

// maxSites is how many authorities are remembered.
const maxSites = 1 << 13

func (t *linksTable) site(u canon.URL) site {
	a := u.Authority().String()
	s, ok := t.sites[a]
	if !ok {
		if len(t.sites) >= maxSites {
			clear(t.sites)
		}
		s = site{tables.Text(u.Host()), tables.Text(u.RegistrableDomain())}
		t.sites[strings.Clone(a)] = s
	}
	return s
}

// says fills in what a mention says.
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

// relWords are the words of a rel, each once.
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

// judged fills in the target, and what became of it; s is nil if the ledger has no line of it.
func (d *rows) judged(r row, m *mention, s *said) error {
	if m.URL == "" {
		r.set("followed", tables.Flag(false))
		r.set("why_not", tables.Text(m.Why))
		return nil
	}
	u, err := canon.Parse(m.URL)
	if err != nil {
		return fmt.Errorf("links: %w", err)
	}
	at := d.t.site(u)
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
			r.set("target_status", tables.Short(int16(min(s.Status, math.MaxInt16)))) //nolint:gosec // it is bounded
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

// scope fills in whether the scope takes the target. It returns the rule that refuses it.
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

// judge says whether the scope of a crawl takes a mention.
type judge struct {
	scope *scope.Scope
	rels  extract.Rels
	chain map[string]bool // keys of seeds, and of what they redirect to
}

// newJudge judges by a scope, and by the words of rel that links may have to be followed.
func newJudge(c scope.Config, rels extract.Rels) (*judge, error) {
	s, err := scope.New(c, nil)
	if err != nil {
		return nil, err
	}
	return &judge{scope: s, rels: rels, chain: map[string]bool{}}, nil
}

// line takes in a line of the ledger. Lines come in its order. Seeds, and where their redirects end, widen the scope.
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

// verdict judges a mention of u by a document.
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
