package export

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/spool"
	"curtsy/storage/tables"
)

// linksTable makes the rows. It is given lines and documents first and read afterwards, once, by one goroutine.
type linksTable struct {
	reader    *linksReader
	join      *join
	documents spool.Spool // heads, as lines of JSON, each with its mentions behind it
	places    uint64      // mentions so far
	row       *filler
	sites     map[string]site
}

// site is what rows say of an authority.
type site struct{ host, domain tables.Value }

// newTable makes rows of what r reads.
func newTable(r *linksReader) *linksTable {
	return &linksTable{
		reader: r, join: newJoin(r.dir), documents: spool.Spool{Dir: r.dir, Pattern: pattern},
		row: newFiller(&tables.Links), sites: map[string]site{},
	}
}

// Close frees memory and disk.
func (t *linksTable) Close() error {
	return errors.Join(t.join.byTarget.Close(), t.join.byPlace.Close(), t.documents.Close())
}

// Line takes in a line of the ledger of a crawl. Those of one crawl come in their order.
func (t *linksTable) Line(crawl int, l *storage.Line) error {
	u, err := canon.Parse(l.URL)
	if err != nil || l.Decision == storage.DecisionRobots || l.Decision == storage.DecisionOwner {
		return nil //nolint:nilerr // nobody linked to it
	}
	if j := t.reader.crawls[crawl].Scope; j != nil {
		j.line(u, l)
	}
	return t.join.line(t.reader.sum(crawl, u.Key()), l)
}

// Add takes in a document. Documents come in the order that rows are to have.
func (t *linksTable) Add(d *linksDocument) error {
	d.head.Mentions = d.n
	b, err := json.Marshal(&d.head)
	if err == nil {
		_, err = t.documents.Write(append(b, '\n'))
	}
	if err == nil {
		_, err = d.says.WriteTo(&t.documents)
	}
	if err != nil {
		return fmt.Errorf("links: %w", err)
	}
	keys := bufio.NewReaderSize(d.keys.Section(), 16<<10)
	for range d.n {
		var sum [sumSize]byte
		if _, err := io.ReadFull(keys, sum[:]); err != nil {
			return fmt.Errorf("%w: %w", errSpool, err)
		}
		if sum != [sumSize]byte{} {
			if err := t.join.mention(sum[:], t.places); err != nil {
				return err
			}
		}
		t.places++
	}
	return nil
}

// Rows gives each row to to.
func (t *linksTable) Rows(ctx context.Context, to func(tables.Row) error) error {
	if err := t.join.meet(); err != nil {
		return err
	}
	found, err := t.join.answers()
	if err != nil {
		return err
	}
	defer found.stop()
	in := bufio.NewReaderSize(t.documents.Section(), 64<<10)
	place := uint64(0)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("links: %w", err)
		}
		d := rows{t: t}
		if err := json.Unmarshal(line, &d.head); err != nil {
			return fmt.Errorf("%w: %w", errSpool, err)
		}
		if err := d.all(in, found, &place, to); err != nil {
			return err
		}
	}
}

// rows makes the rows of one document.
type rows struct {
	t      *linksTable
	head   head
	url    canon.URL
	at     site
	begins row // what all rows of the document have
}

func (d *rows) all(in *bufio.Reader, found *answers, place *uint64, to func(tables.Row) error) error {
	var err error
	if d.url, err = canon.Parse(d.head.URL); err != nil {
		return fmt.Errorf("%w: %w", errSpool, err)
	}
	d.source()
	c := newDecoder(d.head.URL, in)
	for n := range d.head.Mentions {
		m, err := c.decode()
		if err != nil {
			return err
		}
		r := row{d.t.row, slices.Clone(d.begins.r)}
		r.set("position", tables.Int(int32(min(n+1, math.MaxInt32)))) //nolint:gosec // it is bounded
		d.says(r, &m)
		s, known, err := found.of(*place)
		if err != nil {
			return err
		}
		*place++
		if err := d.judged(r, &m, s, known); err != nil {
			return err
		}
		if err := to(r.r); err != nil {
			return err
		}
	}
	return nil
}

// source fills in where the mentions stand.
func (d *rows) source() {
	d.begins = d.t.row.row()
	h := &d.head
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

// judged fills in the target, and what became of it.
func (d *rows) judged(r row, m *mention, s said, known bool) error {
	if m.URL == "" {
		r.set("followed", tables.Flag(false))
		r.set("why_not", tables.Text(m.Why))
		return nil
	}
	u, err := canon.Parse(m.URL)
	if err != nil {
		return fmt.Errorf("%w: %w", errSpool, err)
	}
	at := d.t.site(u)
	r.set("target_url", tables.Text(m.URL))
	r.set("target_surtkey", tables.Text(cdxj.Key(m.URL)))
	r.set("target_host_name", at.host)
	r.set("target_domain", at.domain)
	r.set("internal", tables.Flag(at.domain.Text() == d.at.domain.Text()))
	r.set("same_host", tables.Flag(u.Host() == d.url.Host()))
	rule := d.scope(r, m, u)
	if known {
		r.set("target_decision", tables.Some(string(s.decision)))
		r.set("target_outcome", tables.Some(string(s.outcome)))
		r.set("target_reason", tables.Some(s.reason))
		if s.status > 0 {
			r.set("target_status", tables.Short(int16(min(s.status, math.MaxInt16)))) //nolint:gosec // it is bounded
		}
		r.set("target_time", tables.Instant(s.time))
	}
	r.set("followed", tables.Flag(s.asked))
	switch {
	case s.asked:
	case m.Why != "":
		r.set("why_not", tables.Text(m.Why))
	case known && s.reason != "":
		r.set("why_not", tables.Text(s.reason))
	case known:
		r.set("why_not", tables.Text(string(s.decision)))
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
	v := j.verdict(u, linksFound{
		By: d.url, Kind: d.head.Kind, Depth: d.head.Depth, Embed: m.Kind == kindEmbed, Redirect: m.Kind == kindRedirect,
		Rels: m.Rels, NoFollow: d.head.NoFollow && m.Kind != kindRedirect,
	})
	r.set("in_scope", tables.Flag(v.In))
	r.set("scope_rule", tables.Text(v.Rule))
	if v.In {
		return ""
	}
	return v.Rule
}
