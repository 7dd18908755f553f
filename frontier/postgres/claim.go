package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// lease is a turn that is out. It is only in memory.
type lease struct {
	authority canon.Authority
	key       int64 // of the host
	token     frontier.Token
	tasks     []task
	expires   time.Time
	ending    bool // its Finish is being committed
}

type task struct {
	frontier.Task
	deferred bool
}

// clock returns the argument of statements that need the time.
func (r *reader) clock() any {
	if r.now == nil {
		return nil
	}
	return r.now()
}

// Claim implements frontier.Engine. Only one claim at a time reads and waits; the others wait for it.
func (f *Frontier) Claim(ctx context.Context, w frontier.Want) (frontier.Claimed, error) {
	if err := ctx.Err(); err != nil {
		return frontier.Claimed{}, err
	}
	select {
	case <-f.claiming:
	case <-ctx.Done():
		return frontier.Claimed{}, ctx.Err()
	}
	defer func() { f.claiming <- struct{}{} }()
	for {
		f.mu.Lock()
		changed, err := f.changed, f.usable()
		f.mu.Unlock()
		if err != nil {
			return frontier.Claimed{}, err
		}
		var c frontier.Claimed
		if err := f.call(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
			if c.Turns, err = f.claim(ctx, conn, max(w.Hosts, 1), max(w.Tasks, 1)); err == nil && len(c.Turns) == 0 {
				c.State, c.Due, err = f.state(ctx, conn)
			}
			return err
		}); err != nil {
			return frontier.Claimed{}, err
		}
		if len(c.Turns) > 0 || c.State == frontier.Drained || c.State == frontier.Waiting && c.Due > w.MaxWait {
			return c, nil
		}
		timer := time.NewTimer(f.patience(c.Due))
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
		timer.Stop()
		if err != nil {
			return frontier.Claimed{}, err
		}
	}
}

// call is do on the connection of claims and questions, while f is usable.
func (f *Frontier) call(ctx context.Context, do func(ctx context.Context, c *pgx.Conn) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.ctx, cancel)()
	err := f.claims.do(ctx, do)
	if errors.Is(err, errAway) {
		f.fail(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && f.usable() != nil {
		return f.usable()
	}
	return err
}

// patience returns how long a claim waits before it reads again, unless something changes.
func (f *Frontier) patience(due time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait := f.t.poll
	if due > 0 {
		wait = min(wait, due)
	}
	for _, l := range f.leases {
		if !l.ending {
			wait = min(wait, max(time.Until(l.expires), 0))
		}
	}
	return wait
}

// expireLeases ends the leases that have expired. The caller holds mu.
func (f *Frontier) expireLeases() {
	now := time.Now()
	for a, l := range f.leases {
		if !l.ending && !l.expires.After(now) {
			delete(f.leases, a)
			f.expired++
			f.broadcast()
		}
	}
}

// out lists the hosts that are leased. The caller holds mu.
func (f *Frontier) out() (keys []int64) {
	keys = []int64{}
	for _, l := range f.leases {
		keys = append(keys, l.key)
	}
	return keys
}

var claimSQL = at(`SELECT h.id, h.auth, h.queued, h.deferred, h.cond, h.pace, h.ends, r.reason, r.width, r.memory,
	CASE WHEN h.dir=$2 THEN r.robots END, coalesce(h.dir<>$2,false), t.fps, t.us, t.cs, (SELECT coalesce(max(n),0) FROM seed)
	FROM (SELECT h.* FROM slot s, LATERAL (SELECT * FROM host WHERE slot=s.id AND queued+deferred>0 AND cond<2 AND hold<>2
			AND (hold=0 OR hold_until<=NOW) AND due<=NOW AND s.gate+pace<=NOW AND NOT id=ANY($3) ORDER BY due LIMIT $4) h
		WHERE s.id=ANY($5) AND s.owner=$6 ORDER BY h.due, h.last LIMIT $4) h
	JOIN hrec r ON r.id=h.id
	LEFT JOIN LATERAL (SELECT array_agg(fp ORDER BY seq) fps, array_agg(u ORDER BY seq) us, array_agg(c ORDER BY seq) cs
		FROM (SELECT fp,seq,u,c FROM url WHERE host=h.id AND st=0 ORDER BY seq LIMIT $7) q) t ON true
	ORDER BY h.due, h.last`)

var retrySQL = at(`SELECT h.id, q.* FROM unnest($2::bigint[]) h(id),
	LATERAL (SELECT r.fp, u.u, u.c, r.attempts, r.reason, r.replaced FROM retry r JOIN url u USING(host,fp)
		WHERE r.host=h.id AND r.due<=NOW ORDER BY u.seq LIMIT $3) q`)

// claim leases due hosts of the member's slots. It writes nothing.
func (f *Frontier) claim(ctx context.Context, c *pgx.Conn, hosts, tasks int) ([]frontier.Turn, error) {
	f.mu.Lock()
	f.expireLeases()
	own, out := maps.Clone(f.own), f.out()
	f.mu.Unlock()
	now := f.clock()
	rows, err := c.Query(ctx, claimSQL, now, f.dir, out, hosts, slices.Collect(maps.Keys(own)), f.me, tasks)
	if err != nil {
		return nil, err
	}
	type found struct {
		l *lease
		h frontier.Host
	}
	var all []found
	var lacking []int64 // hosts with room for deferred tasks
	byKey := map[int64]*lease{}
	var v view
	var fps []int64
	var us []string
	var cs [][]byte
	var lastSeed int64
	_, err = pgx.ForEachRow(rows, append(v.columns(), &fps, &us, &cs, &lastSeed), func() error {
		h, err := v.host()
		if err != nil {
			return err
		}
		l := &lease{authority: h.Authority, key: v.id}
		for i := range fps {
			x, err := unpack(h.Authority, us[i], cs[i])
			if err != nil {
				return err
			}
			l.tasks = append(l.tasks, task{Task: frontier.Task{Candidate: x, Print: frontier.Fingerprint(fps[i])}})
		}
		if len(l.tasks) < tasks && h.Deferred > 0 {
			lacking = append(lacking, v.id)
		}
		byKey[v.id] = l
		all = append(all, found{l, h})
		return nil
	})
	if err == nil && len(lacking) > 0 {
		err = retries(ctx, c, now, lacking, tasks, byKey)
	}
	if err == nil && lastSeed > f.seeds {
		err = f.learn(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(); err != nil {
		return nil, err
	}
	var turns []frontier.Turn
	for _, x := range all {
		slot := x.l.authority.Slot()
		if f.own[slot] == 0 || f.own[slot] != own[slot] || f.leases[x.l.authority] != nil || len(x.l.tasks) == 0 {
			continue
		}
		turns = append(turns, f.grant(x.l, x.h))
	}
	return turns, nil
}

// learn calls onSeed with the new seeds.
func (f *Frontier) learn(ctx context.Context, c *pgx.Conn) error {
	for {
		seeds, last, err := seedsAfter(ctx, c, f.seeds)
		if err != nil || len(seeds) == 0 {
			return err
		}
		for _, s := range seeds {
			if f.onSeed != nil {
				f.onSeed(s.URL)
			}
		}
		f.seeds = last
	}
}

// retries adds the deferred tasks that are due, after all that were never tried.
func retries(ctx context.Context, c *pgx.Conn, now any, hosts []int64, tasks int, of map[int64]*lease) error {
	rows, err := c.Query(ctx, retrySQL, now, hosts, tasks)
	if err != nil {
		return err
	}
	var host, fp int64
	var u string
	var b []byte
	var attempts int
	var reason string
	var replaced *string
	_, err = pgx.ForEachRow(rows, []any{&host, &fp, &u, &b, &attempts, &reason, &replaced}, func() error {
		l := of[host]
		if len(l.tasks) >= tasks {
			return nil
		}
		if replaced != nil {
			u = *replaced
		}
		x, err := unpack(l.authority, u, b)
		l.tasks = append(l.tasks, task{deferred: true, Task: frontier.Task{
			Candidate: x, Print: frontier.Fingerprint(fp), Attempts: attempts, Reason: reason, Replaced: replaced != nil,
		}})
		return err
	})
	return err
}

// grant leases a host. The caller holds mu.
func (f *Frontier) grant(l *lease, h frontier.Host) frontier.Turn {
	f.tokens++
	l.token = frontier.Token(uint64(f.me)<<32 | f.tokens)
	l.expires = time.Now().Add(f.o.LeaseLength)
	f.leases[l.authority] = l
	f.minus(&h)
	t := frontier.Turn{
		Lease: frontier.Lease{Authority: l.authority, Token: l.token, Length: f.o.LeaseLength, Width: 1}, Host: h,
	}
	for _, x := range l.tasks {
		t.Tasks = append(t.Tasks, x.Task)
	}
	return t
}

// minus subtracts the leased tasks from the counts of a host. The caller holds mu.
func (f *Frontier) minus(h *frontier.Host) {
	l := f.leases[h.Authority]
	if l == nil {
		return
	}
	h.Leased = true
	for _, x := range l.tasks {
		h.InFlight++
		if x.deferred {
			h.Deferred--
		} else {
			h.Queued--
		}
	}
}

var stateSQL = at(`SELECT (SELECT min(greatest(h.due, s.gate+h.pace, CASE h.hold WHEN 1 THEN coalesce(h.hold_until,9223372036854775807) END))-NOW
		FROM host h JOIN slot s ON s.id=h.slot WHERE queued+deferred>0 AND cond<2 AND hold<>2 AND NOT h.id=ANY($2)),
	(SELECT coalesce(sum(n),0)::bigint FROM tally WHERE name='pending')`)

// state returns the state of the crawl when nothing is due here. Tasks that another member has leased are pending and
// due.
func (r *reader) state(ctx context.Context, c *pgx.Conn) (frontier.State, time.Duration, error) {
	var due *int64
	var pending int64
	out := []int64{}
	if f := r.local; f != nil {
		f.mu.Lock()
		out = f.out()
		f.mu.Unlock()
	}
	if err := c.QueryRow(ctx, stateSQL, r.clock(), out).Scan(&due, &pending); err != nil {
		return 0, 0, err
	}
	wait := frontier.Never
	if due != nil && *due < int64(frontier.Never/time.Microsecond)/2 {
		wait = max(time.Duration(*due)*time.Microsecond, 0)
	}
	switch {
	case len(out) > 0:
		return frontier.Busy, wait, nil
	case pending == 0:
		return frontier.Drained, 0, nil
	case wait <= 0:
		return frontier.Busy, 0, nil
	}
	return frontier.Waiting, wait, nil
}

var authoritySQL = at(`SELECT h.id, h.auth, h.queued, h.deferred, h.cond, h.pace, h.ends, r.reason, r.width, r.memory,
	CASE WHEN h.dir=$2 THEN r.robots END, coalesce(h.dir<>$2,false)
	FROM host h JOIN hrec r USING(id) JOIN slot s ON s.id=h.slot
	WHERE h.id=$3 AND s.owner=$4 AND cond<2 AND (hold=0 OR hold=1 AND hold_until<=NOW) AND nb<=NOW AND s.gate+pace<=NOW`)

// ClaimAuthority implements frontier.Engine.
func (f *Frontier) ClaimAuthority(ctx context.Context, a canon.Authority) (t frontier.Turn, err error) {
	if a.IsZero() {
		return t, errors.New("frontier/postgres: claim: no authority")
	}
	if err := ctx.Err(); err != nil {
		return t, err
	}
	key, slot := hostKey(f.secret, a), a.Slot()
	err = f.call(ctx, func(ctx context.Context, c *pgx.Conn) error {
		f.mu.Lock()
		f.expireLeases()
		gen, free := f.own[slot], f.leases[a] == nil
		f.mu.Unlock()
		if gen == 0 || !free {
			return nil
		}
		if err := f.know(ctx, c, a); err != nil {
			return err
		}
		var v view
		switch err := c.QueryRow(ctx, authoritySQL, f.clock(), f.dir, key, f.me).Scan(v.columns()...); {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		h, err := v.host()
		if err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if err := f.usable(); err == nil && f.own[slot] == gen && f.leases[a] == nil {
			t = f.grant(&lease{authority: a, key: key}, h)
		}
		return nil
	})
	if err == nil && t.Token == 0 {
		f.mu.Lock()
		defer f.mu.Unlock()
		if err = f.usable(); err == nil {
			err = frontier.ErrNotDue
		}
	}
	return t, err
}

// knowSQL makes hosts known (F1).
const knowSQL = `WITH n AS (INSERT INTO host(id,slot,auth,pace) SELECT DISTINCT ON (l.id) * FROM unnest($1::bigint[],$2::smallint[],$3::text[],$4::bigint[]) l(id,slot,auth,pace)
	ORDER BY l.id ON CONFLICT DO NOTHING RETURNING id) INSERT INTO hrec(id) SELECT id FROM n`

func (f *Frontier) know(ctx context.Context, c *pgx.Conn, a canon.Authority) error {
	_, err := c.Exec(ctx, knowSQL, columns([]knownHost{f.knownHost(a)})...)
	if err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	return nil
}

// knownHost returns a as a new host. Its pace, in microseconds, holds until its first turn sets another.
func (f *Frontier) knownHost(a canon.Authority) knownHost {
	return knownHost{hostKey(f.secret, a), a.Slot(), a.String(), f.o.RestartPace(a).Microseconds()}
}

var errUnsupported = errors.New("not supported in a fleet yet")

var steerSQL = map[frontier.Act]string{
	frontier.Park: at(`WITH b AS (SELECT id, hold, hold_until, hold_reason FROM host JOIN hrec USING(id) WHERE id=$2),
		u AS (UPDATE host SET hold=1, hold_until=NOW+$3 WHERE id=$2 RETURNING hold_until),
		r AS (UPDATE hrec SET hold_reason=$4 WHERE id=$2)
		SELECT b.hold<>1 OR coalesce(b.hold_until<=NOW,false) OR b.hold_until IS DISTINCT FROM u.hold_until OR b.hold_reason<>$4 FROM b, u`),
	frontier.Resume: at(`WITH b AS (SELECT hold=2 OR hold=1 AND coalesce(hold_until>NOW,true) OR cond>1 AND NOT $3 changed FROM host WHERE id=$2),
		u AS (UPDATE host SET hold=0, hold_until=NULL, cond=CASE WHEN cond>1 AND NOT $3 THEN 0 ELSE cond END FROM b WHERE id=$2 AND changed),
		r AS (UPDATE hrec SET hold_reason='', reason=CASE WHEN h.cond>1 AND NOT $3 THEN '' ELSE reason END FROM b, host h WHERE hrec.id=$2 AND h.id=$2 AND changed)
		SELECT changed FROM b`),
	frontier.Rest: at(`WITH b AS (SELECT nb<NOW+$3 AND $3>0 changed FROM host WHERE id=$2),
		u AS (UPDATE host SET nb=NOW+$3, due=greatest(due,NOW+$3) FROM b WHERE id=$2 AND changed)
		SELECT changed FROM b`),
}

// Steer implements frontier.Operator except for Drop. It reaches the owner with its next claim.
func (f *Frontier) Steer(ctx context.Context, s frontier.Steering) (did frontier.Steered, err error) {
	if err := s.Check(); err != nil {
		return did, fmt.Errorf("frontier/postgres: steer: %w", err)
	}
	if s.Act == frontier.Drop {
		return did, fmt.Errorf("drop %s: %w", s.Authority, errUnsupported)
	}
	f.mu.Lock()
	f.expireLeases()
	leased := f.leases[s.Authority] != nil
	f.mu.Unlock()
	args := []any{f.clock(), hostKey(f.secret, s.Authority)}
	switch s.Act {
	case frontier.Park:
		var until *int64
		if s.For > 0 {
			n := s.For.Microseconds()
			until = &n
		}
		args = append(args, until, text(s.Reason))
	case frontier.Resume:
		args = append(args, leased)
	case frontier.Rest:
		args = append(args, s.For.Microseconds())
	}
	err = f.ask(ctx, func(ctx context.Context, c *pgx.Conn) error {
		if s.Act != frontier.Resume {
			if err := f.know(ctx, c, s.Authority); err != nil {
				return err
			}
		}
		err := c.QueryRow(ctx, steerSQL[s.Act], args...).Scan(&did.Changed)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broadcast()
	return did, err
}

// Retry implements frontier.Operator.
func (f *Frontier) Retry(_ context.Context, r frontier.Retrial) (frontier.Retried, error) {
	if err := r.Check(); err != nil {
		return frontier.Retried{}, fmt.Errorf("frontier/postgres: retry: %w", err)
	}
	return frontier.Retried{}, fmt.Errorf("retry: %w", errUnsupported)
}

// Snapshot implements frontier.Operator: others may read the server meanwhile.
func (f *Frontier) Snapshot(context.Context, string) error { return frontier.ErrNoSnapshot }
