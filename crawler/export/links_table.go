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
	at        map[string]int
	sites     map[string]site
}

// site is what rows say of an authority.
type site struct{ host, domain tables.Value }

// newTable makes rows of what r reads.
func newTable(r *linksReader) *linksTable {
	t := &linksTable{
		reader: r, join: newJoin(r.dir), documents: spool.Spool{Dir: r.dir, Pattern: pattern},
		at: map[string]int{}, sites: map[string]site{},
	}
	for i := range tables.Links.Columns {
		t.at[tables.Links.Columns[i].Name] = i
	}
	return t
}

// Close frees memory and disk.
func (t *linksTable) Close() error {
	return errors.Join(t.join.byTarget.Close(), t.join.byPlace.Close(), t.documents.Close())
}

// Line takes in a line of the ledger of a crawl. Those of one crawl come in their order.
func (t *linksTable) Line(crawl int, l *storage.Line) error {
	u, ok := linksKeyOf(l)
	if !ok || !taskLine(l) {
		return nil
	}
	if j := t.reader.crawls[crawl].Scope; j != nil {
		j.Line(u, l)
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
	begins tables.Row // what all rows of the document have
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
		r := append(make(tables.Row, 0, len(d.begins)), d.begins...)
		d.set(r, "position", tables.Int(int32(min(n+1, math.MaxInt32)))) //nolint:gosec // it is bounded
		d.says(r, &m)
		s, known, err := found.of(*place)
		if err != nil {
			return err
		}
		*place++
		if err := d.judged(r, &m, s, known); err != nil {
			return err
		}
		if err := to(r); err != nil {
			return err
		}
	}
	return nil
}

func (d *rows) set(r tables.Row, name string, v tables.Value) { r[d.t.at[name]] = v }

// source fills in where the mentions stand.
func (d *rows) source() {
	d.begins = make(tables.Row, len(tables.Links.Columns))
	for i := range d.begins {
		d.begins[i] = tables.Null()
	}
	h := &d.head
	d.set(d.begins, "source_surtkey", tables.Text(h.Key))
	d.set(d.begins, "fetch_time", tables.Instant(h.Time))
	d.set(d.begins, "crawl", tables.Text(d.t.reader.crawls[h.Crawl].Name))
	d.set(d.begins, "source_url", tables.Text(h.URL))
	d.at = d.t.site(d.url)
	d.set(d.begins, "source_host_name", d.at.host)
	d.set(d.begins, "source_domain", d.at.domain)
	if h.Generation > 0 {
		d.set(d.begins, "generation", tables.Long(h.Generation))
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
func (d *rows) says(r tables.Row, m *mention) {
	d.set(r, "kind", tables.Text(m.Kind))
	d.set(r, "element", tables.Some(m.Element))
	d.set(r, "attribute", tables.Some(m.Attribute))
	if words := relWords(m.Rel); words != nil {
		d.set(r, "rel", tables.Texts(words))
	}
	d.set(r, "nofollow", tables.Flag(m.NoFollow || d.head.NoFollow && m.Kind != kindRedirect))
	d.set(r, "anchor_text", tables.Some(m.Text))
	if m.Kind != kindUnread {
		d.set(r, "target_written", tables.Text(m.Written))
	}
	d.set(r, "repeated", tables.Flag(m.Repeated))
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
func (d *rows) judged(r tables.Row, m *mention, s said, known bool) error {
	if m.URL == "" {
		d.set(r, "followed", tables.Flag(false))
		d.set(r, "why_not", tables.Text(m.Why))
		return nil
	}
	u, err := canon.Parse(m.URL)
	if err != nil {
		return fmt.Errorf("%w: %w", errSpool, err)
	}
	at := d.t.site(u)
	d.set(r, "target_url", tables.Text(m.URL))
	d.set(r, "target_surtkey", tables.Text(cdxj.Key(m.URL)))
	d.set(r, "target_host_name", at.host)
	d.set(r, "target_domain", at.domain)
	d.set(r, "internal", tables.Flag(at.domain.Text() == d.at.domain.Text()))
	d.set(r, "same_host", tables.Flag(u.Host() == d.url.Host()))
	rule := d.scope(r, m, u)
	if known {
		d.set(r, "target_decision", tables.Some(string(s.decision)))
		d.set(r, "target_outcome", tables.Some(string(s.outcome)))
		d.set(r, "target_reason", tables.Some(s.reason))
		if s.status > 0 {
			d.set(r, "target_status", tables.Short(int16(min(s.status, math.MaxInt16)))) //nolint:gosec // it is bounded
		}
		d.set(r, "target_time", tables.Instant(s.time))
	}
	d.set(r, "followed", tables.Flag(s.asked))
	switch {
	case s.asked:
	case m.Why != "":
		d.set(r, "why_not", tables.Text(m.Why))
	case known && s.reason != "":
		d.set(r, "why_not", tables.Text(s.reason))
	case known:
		d.set(r, "why_not", tables.Text(string(s.decision)))
	case rule != "":
		d.set(r, "why_not", tables.Text(rule))
	default:
		d.set(r, "why_not", tables.Text(whyNoLine))
	}
	return nil
}

// scope fills in whether the scope takes the target. It returns the rule that refuses it.
func (d *rows) scope(r tables.Row, m *mention, u canon.URL) (refused string) {
	j := d.t.reader.crawls[d.head.Crawl].Scope
	if j == nil {
		return ""
	}
	v := j.Scope(u, linksFound{
		By: d.url, Kind: d.head.Kind, Depth: d.head.Depth, Embed: m.Kind == kindEmbed, Redirect: m.Kind == kindRedirect,
		Rels: m.Rels, NoFollow: d.head.NoFollow && m.Kind != kindRedirect,
	})
	d.set(r, "in_scope", tables.Flag(v.In))
	d.set(r, "scope_rule", tables.Text(v.Rule))
	if v.In {
		return ""
	}
	return v.Rule
}
