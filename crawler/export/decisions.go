package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
	"curtsy/storage/report"
	"curtsy/storage/sorted"
	"curtsy/storage/tables"
)

// decisions makes a row for each line of the ledger.
func decisions(ctx context.Context, in *Inputs, out *Out) error {
	f := newFiller(&tables.Decisions)
	fields := storage.Fields()
	for _, c := range in.Crawls {
		name := tables.Text(c.Name)
		err := c.entries(ctx, out, func(e *entry) error {
			r := f.row()
			r.set("crawl", name)
			r.set("entry", tables.Long(e.Index))
			if e.generation > 0 {
				r.set("generation", tables.Long(e.generation))
			}
			switch {
			case e.unread:
				r.set("line_kind", tables.Text("unreadable"))
			case e.Forgotten:
				r.set("line_kind", tables.Text("redacted"))
			case e.Mark != nil:
				r.set("line_kind", tables.Text("mark"))
				r.set("mark", tables.Text(string(e.Text)))
				r.set("time", tables.Instant(e.Mark.Time))
			default:
				r.set("line_kind", tables.Text("decision"))
				r.line(fields, &e.Line)
			}
			return out.Row(r.r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// line fills in the fields of a line.
func (r row) line(fields []storage.Field, l *storage.Line) {
	var text []byte
	for i := range fields {
		f := &fields[i]
		if !f.IsSaid(l) {
			continue
		}
		if lines, ok := f.Lines(l); ok {
			r.set(f.JSON, tables.Texts(strings.Split(lines, "\n")))
			continue
		}
		text = f.AppendText(text[:0], l)
		r.set(f.JSON, valueOf(tables.KindOf(f), string(text)))
	}
}

// valueOf reads what a field wrote.
func valueOf(k tables.Kind, text string) tables.Value {
	switch k {
	case tables.Time:
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return tables.Instant(t)
		}
	case tables.Float64:
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return tables.Float(n)
		}
	case tables.Int64:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return tables.Long(n)
		}
	case tables.Bool:
		return tables.Flag(text == "true")
	default:
		return tables.Text(text)
	}
	return tables.Null()
}

// LostLines is why lines of a ledger have no rows that are not there, or in a part of a segment that cannot be read.
const LostLines = "ledger-lines-lost"

// Why others have none.
const (
	tornLine  = "ledger-line-unfinished" // the last one, which a kill tore, or which is being written
	redacted  = "ledger-line-redacted"   // forgotten; in the table of decisions it has a row
	unread    = "ledger-line-unreadable" // in the table of decisions it has a row
	mark      = "ledger-mark"            // no decision; in the table of decisions it has a row
	lostPart  = "ledger-part-unreadable" // how many lines it had is not known, or told as lost
	wrongLine = "ledger-line-misplaced"  // its index is that of one before it
)

// entry is a line of a ledger, or in its place one that cannot be read.
type entry struct {
	ledger.Entry
	unread     bool
	generation int64 // 0 where it is not known
}

// entries gives each line of the ledger to see, in its order and with ascending indexes, and counts those that are lost.
func (c *Crawl) entries(ctx context.Context, out *Out, see func(e *entry) error) error {
	next, generation, torn := int64(0), int64(0), int64(0)
	for e, err := range ledger.Skim(filepath.Join(c.Dir, crawldir.LedgerName)) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		isUnread := e.Problem != nil && e.Problem.Fault == ledger.Unreadable
		switch {
		case e.Problem != nil && !isUnread:
			if e.Problem.Fault == ledger.Torn {
				out.Left(tornLine, 1)
				torn = 1
			}
			continue // the audit's matter
		case e.Index < next && isUnread:
			out.Left(lostPart, 1)
			continue
		case e.Index < next:
			out.Left(wrongLine, 1)
			continue
		}
		if upto := c.upto(); upto >= 0 && e.Index >= upto {
			break
		}
		out.Left(LostLines, e.Index-next)
		next = e.Index + 1
		if e.Mark != nil && e.Mark.Kind == ledger.KindRun {
			if g := c.infos[e.Mark.Warcinfo]; g > 0 {
				generation = g
			}
		}
		if err := see(&entry{Entry: e, unread: isUnread, generation: generation}); err != nil {
			return err
		}
	}
	out.Left(LostLines, c.Size-next-torn) // by the checkpoint: an end that is cut off leaves no gap
	if c.seen < 0 {
		c.seen = next
	}
	return nil
}

// upto is the index of the first entry that is not read, so that all tables are made of the same; -1 for none.
func (c *Crawl) upto() int64 {
	if c.Entries >= 0 {
		return c.Entries
	}
	return c.seen
}

// decided gives each decision of a ledger to see; what is none is counted.
func (c *Crawl) decided(ctx context.Context, out *Out, see func(e *entry) error) error {
	return c.entries(ctx, out, func(e *entry) error {
		switch {
		case e.unread:
			out.Left(unread, 1)
		case e.Mark != nil:
			out.Left(mark, 1)
		case e.Forgotten:
			out.Left(redacted, 1)
		default:
			return see(e)
		}
		return nil
	})
}

// failure is what failures of one class come to.
type failure struct {
	Count, Deferred int64
	First, Last     time.Time
	URL, Reason     string // of the first
}

func addFailure(to, more *failure) {
	to.Count, to.Deferred = to.Count+more.Count, to.Deferred+more.Deferred
	if to.First.IsZero() || more.First.Before(to.First) {
		to.First, to.URL, to.Reason = more.First, more.URL, more.Reason
	}
	to.Last = later(to.Last, more.Last)
}

// failures adds the failures of the ledger up by authority and class: those that the report counts.
func failures(ctx context.Context, in *Inputs, out *Out) (err error) {
	all := newSums(in, addFailure)
	defer func() { err = all.close(err) }()
	for _, c := range in.Crawls {
		err := c.decided(ctx, out, func(e *entry) error {
			l := &e.Line
			if !report.Failed(l) {
				return nil
			}
			key, authority := hostOf(l.URL)
			class := cmp.Or(report.Class(l.Reason), "other")
			robots := "0"
			if l.Decision == storage.DecisionRobots {
				robots = "1"
			}
			f, err := all.of(keyOf(key, authority, class, robots, c.Name))
			if err != nil {
				return err
			}
			addFailure(f, &failure{Count: 1, Deferred: bit(l.Outcome == storage.OutcomeDeferred), First: l.Time, Last: l.Time,
				URL: l.URL, Reason: l.Reason})
			return nil
		})
		if err != nil {
			return err
		}
	}
	fill := newFiller(&tables.Errors)
	return all.all(func(key []string, f *failure) error {
		r := fill.row()
		r.host(key)
		r.set("class", tables.Text(key[2]))
		r.set("robots", tables.Flag(key[3] == "1"))
		r.set("crawl", tables.Text(key[4]))
		r.set("meaning", tables.Some(plainly.Meaning(key[2])))
		r.set("count", tables.Long(f.Count))
		r.set("deferred", tables.Long(f.Deferred))
		r.set("first_time", instant(f.First))
		r.set("last_time", instant(f.Last))
		r.set("example_url", tables.Text(f.URL))
		r.set("example_reason", tables.Some(f.Reason))
		return out.Row(r.r)
	})
}

// The most that one line may count for: a ledger that lies must not make sums run over.
const (
	mostTimes  = 1 << 40
	mostOctets = 1 << 44
	mostTook   = 100 * time.Hour
)

// host is what lines of one authority come to.
type host struct {
	Own                            bool
	Lines, URLs, Refused           int64
	Exchanges, Robots, Retries     int64
	Outcomes                       map[storage.Outcome]int64
	Status                         [6]int64 // by the first digit; 0: none
	Octets                         int64
	First, Last                    time.Time
	Took, Rest, LeastGap, MostPace time.Duration
	HasPace                        bool
	PaceBy                         storage.PaceBy
}

// take adds a line.
func (h *host) take(l *storage.Line) {
	n := min(max(l.Count, 1), mostTimes)
	one := host{
		Own: l.Own, Lines: 1, URLs: n, First: l.Time, Last: l.Time, Octets: min(max(l.Octets, 0), mostOctets),
		Rest: min(max(l.Rest, 0), mostTook), LeastGap: l.Gap,
	}
	switch l.Decision {
	case storage.DecisionRefuse, storage.DecisionHold, storage.DecisionOptOut:
		one.Refused = n
	}
	if l.Outcome != "" {
		one.Outcomes = map[storage.Outcome]int64{l.Outcome: n}
	}
	if report.Sent(l) {
		one.Exchanges, one.Took = 1, min(max(l.Took, 0), mostTook)
		one.Retries = bit(l.Attempt > 1)
		one.Robots = bit(l.Decision == storage.DecisionRobots)
		if digit := l.Status / 100; digit >= 1 && digit < len(one.Status) {
			one.Status[digit] = 1
		} else {
			one.Status[0] = 1
		}
		if l.PaceBy != "" {
			one.HasPace, one.MostPace, one.PaceBy = true, l.Pace, l.PaceBy
		}
	}
	addHost(h, &one)
}

func addHost(to, more *host) {
	to.First, to.Last = earlier(to.First, more.First), later(to.Last, more.Last)
	to.Own = to.Own || more.Own
	to.Lines, to.URLs, to.Refused = to.Lines+more.Lines, to.URLs+more.URLs, to.Refused+more.Refused
	to.Exchanges, to.Robots, to.Retries = to.Exchanges+more.Exchanges, to.Robots+more.Robots, to.Retries+more.Retries
	to.Octets, to.Took, to.Rest = to.Octets+more.Octets, to.Took+more.Took, to.Rest+more.Rest
	for o, n := range more.Outcomes {
		if to.Outcomes == nil {
			to.Outcomes = map[storage.Outcome]int64{}
		}
		if _, known := outcomeColumns[o]; known {
			to.Outcomes[o] += n
		}
	}
	for i, n := range more.Status {
		to.Status[i] += n
	}
	if more.LeastGap > 0 && (to.LeastGap <= 0 || more.LeastGap < to.LeastGap) {
		to.LeastGap = more.LeastGap
	}
	if more.HasPace && (!to.HasPace || more.MostPace > to.MostPace || more.MostPace == to.MostPace && more.PaceBy < to.PaceBy) {
		to.HasPace, to.MostPace, to.PaceBy = true, more.MostPace, more.PaceBy
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// earlier is the earlier of two times that are some.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// outcomeColumns are the columns of outcomes.
var outcomeColumns = map[storage.Outcome]string{
	storage.OutcomeFetched: "fetched", storage.OutcomeRedirected: "redirected", storage.OutcomeDisallowed: "disallowed",
	storage.OutcomeFailed: "failed", storage.OutcomeGone: "gone", storage.OutcomeDropped: "dropped",
	storage.OutcomeHeld: "held", storage.OutcomeDeferred: "deferred",
}

// hosts adds the ledger up by authority.
func hosts(ctx context.Context, in *Inputs, out *Out) (err error) {
	all := newSums(in, addHost)
	defer func() { err = all.close(err) }()
	for _, c := range in.Crawls {
		err := c.decided(ctx, out, func(e *entry) error {
			key, authority := hostOf(e.Line.URL)
			h, err := all.of(keyOf(key, authority, c.Name))
			if err == nil {
				h.take(&e.Line)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	f := newFiller(&tables.Hosts)
	return all.all(func(key []string, h *host) error {
		r := f.row()
		r.host(key)
		r.set("crawl", tables.Text(key[2]))
		r.sum(h)
		return out.Row(r.r)
	})
}

// host fills in which host a row is about.
func (r row) host(key []string) {
	r.set("host_surtkey", tables.Text(key[0]))
	r.set("authority", tables.Text(key[1]))
	if r.table != &tables.Hosts {
		return
	}
	a, err := canon.ParseAuthority(key[1])
	if err != nil {
		r.set("host", tables.Text(""))
		r.set("scheme", tables.Text(""))
		return
	}
	r.set("host", tables.Text(a.Host()))
	r.set("scheme", tables.Text(a.Scheme()))
	r.set("port", portOf(a))
	registry, private := a.Suffixes()
	r.set("registered_domain", tables.Some(registry.Domain))
	r.set("private_domain", tables.Some(private.Domain))
}

// sum fills in what the lines come to.
func (r row) sum(h *host) {
	r.set("own", tables.Flag(h.Own))
	for name, n := range map[string]int64{
		"decisions": h.Lines, "urls": h.URLs, "exchanges": h.Exchanges, "robots_exchanges": h.Robots, "retries": h.Retries,
		"refused": h.Refused, "status_2xx": h.Status[2], "status_3xx": h.Status[3], "status_4xx": h.Status[4],
		"status_5xx": h.Status[5], "no_answer": h.Status[0] + h.Status[1], "octets": h.Octets,
	} {
		r.set(name, tables.Long(n))
	}
	for o, column := range outcomeColumns {
		r.set(column, tables.Long(h.Outcomes[o]))
	}
	r.set("first_time", instant(h.First))
	r.set("last_time", instant(h.Last))
	r.set("took_ms", millis(h.Took))
	r.set("rest_ms", millis(h.Rest))
	r.set("least_gap_ms", unlessZero(h.LeastGap))
	if h.HasPace {
		r.set("most_pace_ms", millis(h.MostPace))
		r.set("most_pace_by", tables.Some(string(h.PaceBy)))
	}
}

// instant is a time that a column must have: 1970 for none.
func instant(t time.Time) tables.Value {
	if t.IsZero() {
		t = time.Unix(0, 0)
	}
	return tables.Instant(t)
}

// mostSums is how many sums are held in memory.
const mostSums = 1 << 14

// sums adds up under keys, any number of them: those that no longer fit into memory go through an external sort.
type sums[S any] struct {
	add  func(to, more *S) // in whatever order
	held map[string]*S
	rest *sorted.Rows[*S]
}

func newSums[S any](in *Inputs, add func(to, more *S)) *sums[S] {
	return &sums[S]{add: add, held: map[string]*S{}, rest: sorted.NewRows[*S](in.temp, sortMemory)}
}

// of returns the sum of a key, which holds until the next call.
func (s *sums[S]) of(key string) (*S, error) {
	if sum := s.held[key]; sum != nil {
		return sum, nil
	}
	if len(s.held) >= mostSums {
		if err := s.spill(); err != nil {
			return nil, err
		}
	}
	sum := new(S)
	s.held[key] = sum
	return sum, nil
}

// spill makes room.
func (s *sums[S]) spill() error {
	for _, key := range slices.Sorted(maps.Keys(s.held)) {
		if err := s.rest.Add(key, s.held[key]); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	clear(s.held)
	return nil
}

// all gives each key with its sum to see, in the order of keys.
func (s *sums[S]) all(see func(key []string, sum *S) error) error {
	if err := s.spill(); err != nil {
		return err
	}
	var last sorted.Row[*S]
	for row, err := range s.rest.All() {
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if last.Value != nil && row.Key == last.Key {
			s.add(last.Value, row.Value)
			continue
		}
		if last.Value != nil {
			if err := see(strings.Split(last.Key, keySep), last.Value); err != nil {
				return err
			}
		}
		last = row
	}
	if last.Value == nil {
		return nil
	}
	return see(strings.Split(last.Key, keySep), last.Value)
}

func (s *sums[S]) close(err error) error { return errors.Join(err, s.rest.Close()) }

// keySep separates the parts of a key. No part contains it or a lesser byte, so keys sort as their parts do.
const keySep = "\x01"

func keyOf(parts ...string) string {
	for i, p := range parts {
		parts[i] = plainPart(p)
	}
	return strings.Join(parts, keySep)
}

// plainPart is a part as its column has it, without control characters.
func plainPart(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsAny(s, "\x00\x01") {
		s = strings.NewReplacer("\x00", "\uFFFD", "\x01", "\uFFFD").Replace(s)
	}
	return s
}

// hostOf is the authority of a URL, with the sort key of its first page; both are empty for what is no web address.
func hostOf(url string) (key, authority string) {
	u, err := canon.Parse(url)
	if err != nil {
		return "", ""
	}
	return cdxj.Key(u.Authority().Origin() + "/"), u.Authority().String()
}
