package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// reader answers questions. A frontier that is open for reading is only this.
type reader struct {
	link   *link
	secret []byte
	dir    Dir
	me     int64
	now    func() int64
	local  *Frontier // has the state in memory; nil for a reader

	unclean  bool
	restarts int64
}

func (r *reader) ask(ctx context.Context, do func(ctx context.Context, c *pgx.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.local == nil {
		return r.link.do(ctx, do)
	}
	r.local.mu.Lock()
	err := r.local.usable()
	r.local.expireLeases()
	r.local.mu.Unlock()
	if err != nil {
		return err
	}
	return r.local.call(ctx, do)
}

type view struct {
	id               int64
	auth             string
	queued, deferred int64
	cond, width      int
	pace             int64
	ends             []int64
	reason           string
	memory, robots   []byte
	moved            bool
}

func (v *view) columns() []any {
	return []any{&v.id, &v.auth, &v.queued, &v.deferred, &v.cond, &v.pace, &v.ends, &v.reason, &v.width, &v.memory, &v.robots, &v.moved}
}

func (v *view) host() (h frontier.Host, err error) {
	if h.Authority, err = canon.ParseAuthority(v.auth); err != nil {
		return h, fmt.Errorf("%w: %w", err, frontier.ErrDamaged)
	}
	h.HostUpdate = frontier.HostUpdate{
		Condition: frontier.Condition(v.cond), Reason: v.reason, Pace: time.Duration(v.pace) * time.Microsecond, Width: v.width,
		Robots: v.robots, Memory: v.memory,
	}
	h.Queued, h.Deferred, h.Moved = v.queued, v.deferred, v.moved
	for i, n := range v.ends {
		h.Outcomes[i+1] = n
	}
	return h, nil
}

var viewSQL = at(`SELECT h.id, h.auth, h.queued, h.deferred, h.cond, h.pace, h.ends, r.reason, r.width, r.memory,
	CASE WHEN h.dir=$2 THEN r.robots END, coalesce(h.dir<>$2,false), greatest(h.nb, s.gate+h.pace)-NOW,
	CASE WHEN h.hold=1 AND h.hold_until<=NOW THEN 0 ELSE h.hold END, r.hold_reason, h.hold_until-NOW, s.owner
	FROM host h JOIN hrec r ON r.id=h.id JOIN slot s ON s.id=h.slot `)

// hosts returns the hosts that a condition selects.
func (r *reader) hosts(ctx context.Context, c *pgx.Conn, where string, args ...any) (all []frontier.Host, err error) {
	rows, err := c.Query(ctx, viewSQL+at(where), append([]any{r.clock(), r.dir}, args...)...)
	if err != nil {
		return nil, err
	}
	var v view
	var wait int64
	var hold int
	var why string
	var until, owner *int64
	_, err = pgx.ForEachRow(rows, append(v.columns(), &wait, &hold, &why, &until, &owner), func() error {
		h, err := v.host()
		if err != nil {
			return err
		}
		h.Wait = time.Duration(max(wait, 0)) * time.Microsecond
		if hold != 0 {
			h.Hold = frontier.Hold{Act: frontier.Act(hold), Reason: why}
			if h.Hold.Act == frontier.Park {
				if h.Hold.Wait = frontier.Never; until != nil {
					h.Hold.Wait = time.Duration(*until) * time.Microsecond
				}
			}
		}
		h.Elsewhere = r.me != 0 && (owner == nil || *owner != r.me)
		all = append(all, h)
		return nil
	})
	if r.local != nil {
		r.local.mu.Lock()
		defer r.local.mu.Unlock()
		for i := range all {
			r.local.minus(&all[i])
		}
	}
	return all, err
}

// Host implements frontier.Reader.
func (r *reader) Host(ctx context.Context, a canon.Authority) (h frontier.Host, ok bool, err error) {
	err = r.ask(ctx, func(ctx context.Context, c *pgx.Conn) error {
		if a.IsZero() {
			return nil
		}
		all, err := r.hosts(ctx, c, "WHERE h.id=$3", hostKey(r.secret, a))
		if ok = len(all) > 0; ok {
			h = all[0]
		} else if r.local != nil {
			r.local.mu.Lock()
			defer r.local.mu.Unlock()
			h.Elsewhere = r.local.own[a.Slot()] == 0
		}
		return err
	})
	return h, ok, err
}

// Hosts implements frontier.Reader.
func (r *reader) Hosts(ctx context.Context, after canon.Authority, limit int) (all []frontier.Host, err error) {
	err = r.ask(ctx, func(ctx context.Context, c *pgx.Conn) error {
		all, err = r.hosts(ctx, c, "WHERE h.auth>$3 ORDER BY h.auth LIMIT $4", after.String(), max(limit, 0))
		return err
	})
	return all, err
}

// Survey implements frontier.Reader.
func (r *reader) Survey(ctx context.Context, n int) (v frontier.Survey, err error) {
	err = r.ask(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		const most = " ORDER BY h.queued+h.deferred DESC, h.auth LIMIT $3"
		if v.Longest, err = r.hosts(ctx, c, "WHERE h.queued+h.deferred>0"+most, max(n, 0)); err != nil {
			return err
		}
		if v.Shut, err = r.hosts(ctx, c, "WHERE h.queued+h.deferred>0 AND (h.cond>0 OR h.hold=2 OR h.hold=1 AND coalesce(h.hold_until>NOW,true))"+most, max(n, 0)); err != nil {
			return err
		}
		for _, list := range [][]frontier.Host{v.Longest, v.Shut} {
			for i := range list {
				list[i].Robots, list[i].Memory = nil, nil
			}
		}
		v.Why, v.Holds = map[frontier.Condition]map[string]int64{}, map[frontier.Act]int64{}
		rows, err := c.Query(ctx, at(`SELECT cond, reason, CASE WHEN hold=1 AND hold_until<=NOW THEN 0 ELSE hold END k, count(*)
			FROM host JOIN hrec USING(id) WHERE cond>0 OR hold>0 GROUP BY 1,2,3`), r.clock())
		if err != nil {
			return err
		}
		var cond, hold int
		var reason string
		var count int64
		_, err = pgx.ForEachRow(rows, []any{&cond, &reason, &hold, &count}, func() error {
			if hold > 0 {
				v.Holds[frontier.Act(hold)] += count
			}
			if c := frontier.Condition(cond); c != frontier.Open {
				if v.Why[c] == nil {
					v.Why[c] = map[string]int64{}
				}
				v.Why[c][reason] += count
			}
			return nil
		})
		return err
	})
	return v, err
}

// Names of tallies. Each member adds to its own rows.
const (
	tallyPending = "pending"
	tallyOutcome = "o/" // then the outcome's number, and after another slash a reason
	tallyCount   = "c/" // then the name of a count
)

// Stats implements frontier.Reader.
func (r *reader) Stats(ctx context.Context) (st frontier.Stats, err error) {
	err = r.ask(ctx, func(ctx context.Context, c *pgx.Conn) error {
		st = frontier.Stats{Reasons: map[frontier.Outcome]map[string]int64{}, Capped: map[string]int64{}, Counts: map[string]int64{}}
		err := c.QueryRow(ctx, at(`SELECT count(*), count(*) FILTER (WHERE queued+deferred>0), count(*) FILTER (WHERE cond=1),
			count(*) FILTER (WHERE cond=2), count(*) FILTER (WHERE cond=3),
			count(*) FILTER (WHERE hold=2 OR hold=1 AND coalesce(hold_until>NOW,true)),
			coalesce(sum(queued),0)::bigint, coalesce(sum(deferred),0)::bigint,
			(SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c WHERE relnamespace=current_schema()::regnamespace AND relkind='r')
			FROM host`), r.clock()).Scan(&st.Hosts, &st.Pending, &st.Parked, &st.Retired, &st.Refused, &st.Stopped, &st.Queued, &st.Deferred, &st.Size)
		if err != nil {
			return err
		}
		rows, err := c.Query(ctx, "SELECT name, sum(n)::bigint FROM tally GROUP BY name")
		if err != nil {
			return err
		}
		var name string
		var n int64
		if _, err := pgx.ForEachRow(rows, []any{&name, &n}, func() error { addTally(&st, name, n); return nil }); err != nil {
			return err
		}
		st.State, st.Due, err = r.state(ctx, c)
		return err
	})
	st.Unclean, st.Restarts = r.unclean, r.restarts
	if f := r.local; f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.expired > 0 && err == nil {
			st.Counts[frontier.ReasonExpired] += f.expired
		}
		for a := range f.leases {
			var h frontier.Host
			h.Authority = a
			f.minus(&h)
			st.Leases++
			st.Queued, st.Deferred, st.InFlight = st.Queued+h.Queued, st.Deferred+h.Deferred, st.InFlight+h.InFlight
		}
	}
	st.Discovered = st.Queued + st.InFlight + st.Deferred
	for _, n := range st.Outcomes {
		st.Discovered += n
	}
	if st.State != frontier.Waiting {
		st.Due = 0
	}
	return st, err
}

// addTally adds one tally to the totals.
func addTally(st *frontier.Stats, name string, n int64) {
	if count, ok := strings.CutPrefix(name, tallyCount); ok {
		st.Counts[count] = n
		return
	}
	outcome, ok := strings.CutPrefix(name, tallyOutcome)
	if !ok {
		return
	}
	number, reason, _ := strings.Cut(outcome, "/")
	i, err := strconv.Atoi(number)
	if err != nil || i <= 0 || i >= len(st.Outcomes) {
		return
	}
	o := frontier.Outcome(i)
	if st.Outcomes[o] += n; reason == "" {
		return
	}
	if st.Reasons[o] == nil {
		st.Reasons[o] = map[string]int64{}
	}
	st.Reasons[o][reason] = n
}

// Seen implements frontier.Reader. It always returns false: asking the server for each link would cost more than it
// saves.
func (r *reader) Seen(ctx context.Context, us []canon.URL) ([]bool, error) {
	return make([]bool, len(us)), r.ask(ctx, func(context.Context, *pgx.Conn) error { return nil })
}

// Entry implements frontier.Reader.
func (r *reader) Entry(ctx context.Context, u canon.URL) (e frontier.Entry, ok bool, err error) {
	e.Print = frontier.Print(r.secret, u)
	err = r.ask(ctx, func(ctx context.Context, c *pgx.Conn) error {
		var target string
		var b []byte
		var st int
		var why, reason, replaced *string
		var attempts, due *int64
		err := c.QueryRow(ctx, at(`SELECT u, c, st, why, attempts, reason, replaced, due-NOW FROM url LEFT JOIN retry USING(host,fp)
			WHERE host=$2 AND fp=$3 AND st<>10`), r.clock(), hostKey(r.secret, u.Authority()), int64(e.Print)).
			Scan(&target, &b, &st, &why, &attempts, &reason, &replaced, &due)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if e.Candidate, err = unpack(u.Authority(), target, b); err != nil {
			return err
		}
		ok = true
		switch {
		case st == urlDeferred && due != nil:
			e.Deferred, e.Attempts, e.Reason, e.Wait = true, int(*attempts), *reason, time.Duration(max(*due, 0))*time.Microsecond
			if replaced != nil {
				e.Replaced, err = u.Authority().URL(*replaced)
			}
		case st != urlQueued:
			if e.Outcome = frontier.Outcome(st); why != nil {
				e.Reason = *why
			}
		}
		return err
	})
	return e, ok, err
}

// AllSeeds implements frontier.Reader.
func (r *reader) AllSeeds(ctx context.Context) iter.Seq2[frontier.Seed, error] {
	return func(yield func(frontier.Seed, error) bool) {
		for last := int64(0); ; {
			var page []frontier.Seed
			err := r.ask(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
				page, last, err = seedsAfter(ctx, c, last)
				return err
			})
			if err != nil {
				yield(frontier.Seed{}, err)
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
			}
			if len(page) == 0 {
				return
			}
		}
	}
}

// seedsAfter returns some seeds after number n, and the number of the last of them. They are committed in the order of
// their numbers: see batch.rest.
func seedsAfter(ctx context.Context, c *pgx.Conn, n int64) (page []frontier.Seed, last int64, err error) {
	rows, err := c.Query(ctx, "SELECT n, url, tag, from_url FROM seed WHERE n>$1 ORDER BY n LIMIT 1000", n)
	if err != nil {
		return nil, n, err
	}
	var raw, from string
	var tag []byte
	_, err = pgx.ForEachRow(rows, []any{&last, &raw, &tag, &from}, func() error {
		u, err := canon.Parse(raw)
		page = append(page, frontier.Seed{URL: u, Tag: string(tag), From: from})
		return err
	})
	if err != nil {
		return nil, n, err
	}
	return page, last, nil
}

// Blob implements frontier.Reader.
func (r *reader) Blob(ctx context.Context, sum [32]byte) (body []byte, err error) {
	err = r.ask(ctx, func(ctx context.Context, c *pgx.Conn) error {
		err := c.QueryRow(ctx, "SELECT body FROM blob WHERE sha=$1", sum[:]).Scan(&body)
		if errors.Is(err, pgx.ErrNoRows) {
			body = nil
			return nil
		}
		return err
	})
	if err == nil && body == nil {
		err = frontier.ErrNoBlob
	}
	return body, err
}

// Stored is a frontier that is open for reading. The crawl may continue meanwhile.
type Stored struct{ reader }

var _ frontier.Stored = (*Stored)(nil)

// OpenReadOnly opens the frontier of a locator for reading, as the member with that directory sees it.
func OpenReadOnly(locator string, dir Dir) (*Stored, error) {
	p, err := parse(locator)
	if err != nil {
		return nil, err
	}
	s := &Stored{reader{link: newLink(p, nil), dir: dir}}
	err = s.link.sure(context.Background(), func(ctx context.Context, c *pgx.Conn) (err error) {
		if s.secret, _, err = head(ctx, c, false); err != nil {
			return err
		}
		return c.QueryRow(ctx, `SELECT count(*), coalesce((array_agg(state ORDER BY id DESC))[1]<>1, false) FROM member WHERE dir=$1`, dir).
			Scan(&s.restarts, &s.unclean)
	})
	if err != nil {
		s.link.close()
		return nil, fmt.Errorf("frontier/postgres: open: %w", err)
	}
	return s, nil
}

// Close ends the connection.
func (s *Stored) Close() error {
	s.link.close()
	return nil
}

// Export implements frontier.Stored.
func (*Stored) Export(context.Context, func(frontier.Item) error) error {
	return fmt.Errorf("a list of all URLs: %w", errUnsupported)
}

// List implements frontier.Stored.
func (s *Stored) List(ctx context.Context, yield func(frontier.Item) error) error {
	return s.Export(ctx, yield)
}

// pack encodes a candidate without its URL: kind, depth, hops, embeds, away, then via, seed and tag with their lengths,
// as uvarints.
func pack(c frontier.Candidate) []byte {
	b := make([]byte, 0, 16+len(c.Via)+len(c.Seed)+len(c.Tag))
	for _, n := range [...]int{int(c.Kind), c.Depth, c.Hops, c.Embeds, c.Away} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, s := range [...]string{c.Via, c.Seed, c.Tag} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// unpack decodes a candidate from the authority of its URL, its request target, and pack's bytes.
func unpack(a canon.Authority, target string, b []byte) (c frontier.Candidate, err error) {
	damaged := func() (frontier.Candidate, error) {
		return c, fmt.Errorf("a URL of %s: %w", a, frontier.ErrDamaged)
	}
	if c.URL, err = a.URL(target); err != nil {
		return damaged()
	}
	var numbers [5]int
	for i := range numbers {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return damaged()
		}
		numbers[i], b = int(n), b[size:]
	}
	c.Kind, c.Depth, c.Hops, c.Embeds, c.Away = frontier.Kind(numbers[0]), numbers[1], numbers[2], numbers[3], numbers[4]
	for _, s := range [...]*string{&c.Via, &c.Seed, &c.Tag} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return damaged()
		}
		*s, b = string(b[size:size+int(n)]), b[size+int(n):]
	}
	return c, nil
}

// text returns s as the server accepts it: UTF-8 without NUL.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// hostKey returns the identity of a host: the fingerprint of its root.
func hostKey(secret []byte, a canon.Authority) int64 {
	u, err := a.URL("/")
	if err != nil {
		panic("frontier/postgres: an authority without a root: " + a.String()) // unreachable: every authority has one
	}
	return int64(frontier.Print(secret, u))
}
