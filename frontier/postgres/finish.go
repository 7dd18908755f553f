package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// job is the work of one call. Jobs that come during a commit are committed together.
type job struct {
	parts []*part
	done  chan error
}

// part is one result, or the candidates of an Add, as arguments of the statements.
type part struct {
	lease   *lease // nil for an Add
	begun   time.Time
	wait    time.Duration
	host    *frontier.HostUpdate
	ends    []ending
	retries []retry
	links   []link1
	of      []canon.Authority // of links
	seeds   []frontier.Seed
	blobs   [][]byte
	counts  map[string]int64 // of tallies

	added frontier.Added
}

// The rows of a batch; each field is a column: see columns.
type (
	// ending is a task that is closed or deferred.
	ending struct {
		Host, Print int64
		State       int16
		Reason      *string
	}

	retry struct {
		Host, Print, Wait int64
		Attempts          int32
		Reason            string
		Replaced          *string
	}

	link1 struct {
		Host, Print int64
		State       int16
		Why, Target *string
		Rest        []byte // by pack
	}

	knownHost struct {
		Key  int64
		Slot int
		Name string
		Pace int64
	}

	turn struct {
		Host        int64
		Condition   *int16
		Pace        *int64
		Token, Wait int64
	}

	record struct {
		Host           int64
		Reason         string
		Width          int32
		Robots, Memory []byte
	}

	seed struct {
		URL  string
		Tag  []byte
		From string
	}

	blob struct{ Sum, Body []byte }

	tally struct {
		Name string
		N    int64
	}
)

// columns returns the arguments of a statement: args, then an array for each field of the rows.
func columns[T any](rows []T, args ...any) []any {
	v, row := reflect.ValueOf(rows), reflect.TypeFor[T]()
	for i := range row.NumField() {
		column := reflect.MakeSlice(reflect.SliceOf(row.Field(i).Type), len(rows), len(rows))
		for n := range rows {
			column.Index(n).Set(v.Index(n).Field(i))
		}
		args = append(args, column.Interface())
	}
	return args
}

// Add implements frontier.Engine.
func (f *Frontier) Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	p := &part{begun: time.Now(), counts: map[string]int64{}}
	if err := frontier.CheckCandidates(cs); err != nil {
		return frontier.Added{}, fmt.Errorf("frontier/postgres: add: %w", err)
	}
	for _, c := range cs {
		if c.Kind == frontier.KindSeed {
			p.seeds = append(p.seeds, frontier.Seed{URL: c.URL, Tag: c.Tag})
		}
	}
	f.link(p, cs)
	err := f.commit(ctx, &job{parts: []*part{p}})
	return p.added, err
}

func (f *Frontier) link(p *part, cs []frontier.Candidate) {
	hosts := map[canon.Authority]int64{}
	for _, c := range cs {
		a := c.URL.Authority()
		if hosts[a] == 0 {
			hosts[a] = hostKey(f.secret, a)
		}
		l := link1{Host: hosts[a], Print: int64(frontier.Print(f.secret, c.URL))}
		if c.Refused != "" {
			l.State, l.Why = urlRefused, new(text(c.Refused))
		} else {
			l.Target, l.Rest = new(c.URL.RequestURI()), pack(c)
		}
		p.links, p.of = append(p.links, l), append(p.of, a)
	}
}

// Finish implements frontier.Engine. It returns when the results are durable.
func (f *Frontier) Finish(ctx context.Context, rs []frontier.Result) ([]frontier.Finished, error) {
	for _, r := range rs {
		if err := r.Check(); err != nil {
			return nil, fmt.Errorf("frontier/postgres: finish %s: %w", r.Authority, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f.mu.Lock()
	err := f.usable()
	if errors.Is(err, frontier.ErrLost) {
		err = nil // every result is stale
	}
	if err != nil {
		f.mu.Unlock()
		return nil, err
	}
	f.expireLeases()
	answers := make([]frontier.Finished, len(rs))
	j := &job{parts: make([]*part, len(rs))}
	for i, r := range rs {
		l := f.leases[r.Authority]
		if l == nil || l.token != r.Token || l.ending {
			answers[i].Err = frontier.ErrStale // or a repeat
		} else if r.Keep {
			err = fmt.Errorf("frontier/postgres: finish %s: keep: the width is always 1", r.Authority)
		} else {
			l.ending = true
			j.parts[i] = &part{lease: l, begun: time.Now()}
		}
	}
	if err != nil {
		for _, p := range j.parts {
			if p != nil {
				p.lease.ending = false
			}
		}
	}
	lost := f.err != nil
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	for i, r := range rs {
		switch p := j.parts[i]; {
		case p != nil:
			f.encode(p, r)
		case !lost:
			if err := f.repeat(ctx, r, &answers[i]); err != nil {
				return nil, err
			}
		}
	}
	parts := slices.Clone(j.parts)
	j.parts = slices.DeleteFunc(j.parts, func(p *part) bool { return p == nil })
	if len(j.parts) == 0 {
		return answers, nil
	}
	err = f.commit(ctx, j)
	stale := errors.Is(err, frontier.ErrLost)
	if err != nil && !stale {
		return nil, err
	}
	for i, p := range parts {
		if p != nil && stale {
			answers[i].Err = frontier.ErrStale
		} else if p != nil {
			answers[i].Added = p.added
		}
	}
	return answers, nil
}

// repeat answers a result without a lease: nil when it is the last that was applied.
func (f *Frontier) repeat(ctx context.Context, r frontier.Result, answer *frontier.Finished) error {
	return f.call(ctx, func(ctx context.Context, c *pgx.Conn) error {
		var last int64
		err := c.QueryRow(ctx, "SELECT last FROM host WHERE id=$1", hostKey(f.secret, r.Authority)).Scan(&last)
		if err == nil && r.Token != 0 && last == int64(r.Token) {
			answer.Err = nil
		}
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
}

// encode turns a result into arguments, sharing nothing with r.
func (f *Frontier) encode(p *part, r frontier.Result) {
	tasks := map[frontier.Fingerprint]task{}
	for _, t := range p.lease.tasks {
		tasks[t.Print] = t
	}
	f.link(p, r.Found)
	p.wait = max(r.Wait, 0)
	p.counts = map[string]int64{}
	for name, n := range r.Counts {
		p.counts[tallyCount+text(name)] = n
	}
	for _, d := range r.Done {
		if _, ok := tasks[d.Print]; !ok {
			continue
		}
		delete(tasks, d.Print)
		e, name := ending{Host: p.lease.key, Print: int64(d.Print), State: int16(d.Outcome)}, fmt.Sprint(tallyOutcome, int(d.Outcome))
		if d.Reason != "" {
			e.Reason = new(text(d.Reason))
			name += "/" + *e.Reason
		}
		p.ends = append(p.ends, e)
		p.counts[tallyPending]--
		p.counts[name]++
	}
	for _, d := range r.Deferred {
		t, ok := tasks[d.Print]
		if !ok {
			continue
		}
		delete(tasks, d.Print)
		p.ends = append(p.ends, ending{Host: p.lease.key, Print: int64(d.Print), State: urlDeferred})
		again := retry{
			Host: p.lease.key, Print: int64(d.Print), Wait: max(d.After, 0).Microseconds(), Attempts: int32(t.Attempts), Reason: text(d.Reason),
		}
		if !d.URL.IsZero() {
			again.Replaced = new(d.URL.RequestURI())
		} else if again.Attempts++; t.Replaced {
			again.Replaced = new(t.URL.RequestURI())
		}
		p.retries = append(p.retries, again)
	}
	if r.Host != nil {
		h := *r.Host
		h.Robots, h.Memory, h.Reason = slices.Clone(h.Robots), slices.Clone(h.Memory), text(h.Reason)
		p.host = &h
	}
	p.seeds = slices.Clone(r.Extend)
	for _, b := range r.Blobs {
		p.blobs = append(p.blobs, slices.Clone(b))
	}
}

func (f *Frontier) commit(ctx context.Context, j *job) error {
	j.done = make(chan error, 1)
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case f.jobs <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-f.ctx.Done():
		return frontier.ErrClosed
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-f.ctx.Done():
		return frontier.ErrClosed
	}
}

// write commits jobs until f is released.
func (f *Frontier) write() {
	for {
		var batch []*job
		select {
		case j := <-f.jobs:
			batch = append(batch, j)
		case <-f.ctx.Done():
			return
		}
		for n := len(batch[0].parts); n < frontier.GroupPages && len(f.jobs) > 0; n++ {
			batch = append(batch, <-f.jobs)
		}
		var parts []*part
		for _, j := range batch {
			parts = append(parts, j.parts...)
		}
		err := f.apply(parts)
		for _, j := range batch {
			j.done <- err
		}
	}
}

// apply commits parts, and ends their leases.
func (f *Frontier) apply(parts []*part) error {
	f.mu.Lock()
	err, expired := f.err, f.expired
	f.mu.Unlock()
	if err == nil && f.o.Barrier != nil {
		if err = f.o.Barrier(f.ctx); err != nil {
			err = fmt.Errorf("frontier/postgres: commit: barrier: %w", err)
		}
	}
	if err == nil {
		b := batch{f: f, parts: parts, expired: expired}
		if err = f.writes.do(f.ctx, b.run); errors.Is(err, errExpired) {
			err = f.lose()
		} else if err != nil && f.ctx.Err() == nil {
			f.fail(err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		f.expired -= expired
	} else if f.err != nil {
		err = f.err
	}
	for _, p := range parts {
		if p.lease != nil {
			delete(f.leases, p.lease.authority)
		}
	}
	f.broadcast()
	return err
}

type batch struct {
	f       *Frontier
	parts   []*part
	expired int64
}

// place1 is a candidate's place in the batch.
type place1 struct{ part, link int }

var findSQL = `SELECT l.i FROM unnest($1::bigint[],$2::bigint[]) WITH ORDINALITY l(h,fp,i)
	WHERE NOT EXISTS(SELECT 1 FROM url WHERE host=l.h AND fp=l.fp)`

// linkSQL inserts links, in one order so that two members cannot wait for each other. Their numbers keep the order of
// discovery.
var linkSQL = at(`WITH b AS MATERIALIZED (SELECT nextval('batch')<<24 n),
	i AS (INSERT INTO url(host,fp,seq,st,why,u,c) SELECT l.host,l.fp,b.n|l.i,l.st,l.why,l.u,l.c
		FROM b, unnest($2::bigint[],$3::bigint[],$4::smallint[],$5::text[],$6::text[],$7::bytea[]) WITH ORDINALITY l(host,fp,st,why,u,c,i)
		ORDER BY l.host, l.fp ON CONFLICT DO NOTHING RETURNING host,fp,st),
	n AS (UPDATE host SET queued=queued+c.n, due=CASE WHEN queued=0 THEN greatest(nb,NOW) ELSE due END
		FROM (SELECT host,count(*) n FROM i WHERE st=0 GROUP BY 1) c WHERE id=c.host)
	SELECT host,fp FROM i`)

var endSQL = `WITH o AS (SELECT u.host,u.fp,u.st was,l.st,l.why FROM unnest($1::bigint[],$2::bigint[],$3::smallint[],$4::text[]) l(host,fp,st,why)
		JOIN url u USING(host,fp) WHERE u.st IN (0,8)),
	d AS (UPDATE url SET st=o.st, why=o.why FROM o WHERE url.host=o.host AND url.fp=o.fp),
	g AS (DELETE FROM retry USING o WHERE retry.host=o.host AND retry.fp=o.fp)
	UPDATE host SET queued=queued-c.q, deferred=deferred-c.d,
		ends=ARRAY[ends[1]+c.e1,ends[2]+c.e2,ends[3]+c.e3,ends[4]+c.e4,ends[5]+c.e5,ends[6]+c.e6,ends[7]+c.e7]
	FROM (SELECT host, sum((was=0)::int) q, sum((was=8)::int-(st=8)::int) d, sum((st=1)::int) e1, sum((st=2)::int) e2,
		sum((st=3)::int) e3, sum((st=4)::int) e4, sum((st=5)::int) e5, sum((st=6)::int) e6, sum((st=7)::int) e7
		FROM o GROUP BY 1) c WHERE id=c.host`

var againSQL = at(`INSERT INTO retry(host,fp,due,attempts,reason,replaced)
	SELECT h,fp,NOW+w,a,r,x FROM unnest($2::bigint[],$3::bigint[],$4::bigint[],$5::int[],$6::text[],$7::text[]) l(h,fp,w,a,r,x)`)

var turnSQL = at(`UPDATE host SET cond=coalesce(t.cond,host.cond), pace=coalesce(t.pace,host.pace), last=t.tok,
		dir=CASE WHEN t.cond IS NULL THEN host.dir ELSE $2 END, nb=greatest(nb,x.t),
		due=CASE WHEN queued>0 THEN greatest(nb,x.t) ELSE greatest(nb,x.t,(SELECT min(r.due) FROM retry r WHERE r.host=host.id)) END
	FROM unnest($3::bigint[],$4::smallint[],$5::bigint[],$6::bigint[],$7::bigint[]) t(id,cond,pace,tok,wait), LATERAL (SELECT NOW+t.wait) x(t)
	WHERE host.id=t.id`)

var recordSQL = `UPDATE hrec SET reason=l.reason, width=l.width, robots=l.robots, memory=l.memory
	FROM unnest($1::bigint[],$2::text[],$3::int[],$4::bytea[],$5::bytea[]) l(id,reason,width,robots,memory) WHERE hrec.id=l.id`

// run commits the batch on a connection. A repeat after a COMMIT without a reply finds the applied tokens in F2.
func (b *batch) run(ctx context.Context, c *pgx.Conn) error {
	links, err := b.selectUnknown(ctx, c)
	if err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	applied, fresh, err := b.enter(ctx, c, links)
	if err != nil {
		return errors.Join(err, b.rollback(ctx, c))
	}
	if applied { // the answers are those of that attempt
		return b.rollback(ctx, c)
	}
	q := &pgx.Batch{}
	b.settle(q, links, fresh)
	q.Queue("COMMIT")
	return c.SendBatch(ctx, q).Close()
}

func (b *batch) rollback(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, "ROLLBACK")
	return err
}

// selectUnknown returns the candidates that are not known yet, each key once (P). It uses no transaction: most links
// are known, and lock nothing.
func (b *batch) selectUnknown(ctx context.Context, c *pgx.Conn) (links []place1, err error) {
	seen := map[[2]int64]bool{}
	var hosts, prints []int64
	for i, p := range b.parts {
		for j, l := range p.links {
			if key := [2]int64{l.Host, l.Print}; !seen[key] {
				seen[key] = true
				links = append(links, place1{i, j})
				hosts, prints = append(hosts, l.Host), append(prints, l.Print)
			}
		}
	}
	if len(links) == 0 {
		return nil, nil
	}
	rows, err := c.Query(ctx, findSQL, hosts, prints)
	if err != nil {
		return nil, err
	}
	var n int64
	var some []place1
	_, err = pgx.ForEachRow(rows, []any{&n}, func() error { some = append(some, links[n-1]); return nil })
	slices.SortFunc(some, func(a, b place1) int {
		if a.part != b.part {
			return a.part - b.part
		}
		return a.link - b.link
	})
	return some, err
}

// enter checks the fence (F0), makes hosts known (F1), locks them (F2) and inserts the links (F3).
func (b *batch) enter(ctx context.Context, c *pgx.Conn, links []place1) (applied bool, fresh map[[2]int64]bool, err error) {
	q := &pgx.Batch{}
	fresh = map[[2]int64]bool{}
	fenced := false
	q.Queue("SELECT 1 FROM member WHERE id=$1 AND state=0 FOR SHARE", b.f.me).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			fenced = true
		}
		return rows.Err()
	})
	hosts := map[int64]canon.Authority{}
	tokens := map[int64]int64{}
	for _, p := range b.parts {
		if p.lease != nil {
			hosts[p.lease.key] = p.lease.authority
			tokens[p.lease.key] = int64(p.lease.token)
		}
	}
	var rows []link1
	for _, x := range links {
		l := b.parts[x.part].links[x.link]
		if rows = append(rows, l); l.State == urlQueued {
			hosts[l.Host] = b.parts[x.part].of[x.link]
		}
	}
	if len(hosts) > 0 {
		var known []knownHost
		for _, a := range hosts {
			known = append(known, b.f.knownHost(a))
		}
		keys := slices.Collect(maps.Keys(hosts))
		q.Queue(knowSQL, columns(known)...)
		q.Queue("SELECT id, last FROM host WHERE id=ANY($1) ORDER BY id FOR NO KEY UPDATE", keys).Query(func(rows pgx.Rows) error {
			var id, last int64
			_, err := pgx.ForEachRow(rows, []any{&id, &last}, func() error {
				if token, ok := tokens[id]; ok && last == token {
					applied = true
				}
				return nil
			})
			return err
		})
	}
	if len(rows) > 0 {
		q.Queue(linkSQL, columns(rows, b.f.clock())...).Query(func(rows pgx.Rows) error {
			var host, print int64
			_, err := pgx.ForEachRow(rows, []any{&host, &print}, func() error { fresh[[2]int64{host, print}] = true; return nil })
			return err
		})
	}
	if err := c.SendBatch(ctx, q).Close(); err != nil {
		return false, nil, err
	}
	if !fenced {
		return false, nil, errExpired
	}
	return applied, fresh, nil
}

// settle queues the statements that depend on the new links: outcomes and turns (F4), then records and totals (F5).
func (b *batch) settle(q *pgx.Batch, links []place1, fresh map[[2]int64]bool) {
	first := map[[2]int64]place1{}
	for _, x := range links {
		l := b.parts[x.part].links[x.link]
		first[[2]int64{l.Host, l.Print}] = x
	}
	counts := map[string]int64{}
	if b.expired > 0 {
		counts[tallyCount+frontier.ReasonExpired] += b.expired
	}
	now := b.f.clock()
	var ends []ending
	var again []retry
	var turns []turn
	var records []record
	for i, p := range b.parts {
		p.added = frontier.Added{}
		for j, l := range p.links {
			key := [2]int64{l.Host, l.Print}
			switch x, ok := first[key]; {
			case !ok || x != place1{i, j} || !fresh[key]:
				p.added.Known++
			case l.State == urlRefused:
				p.added.Refused++
				counts[fmt.Sprint(tallyOutcome, int(frontier.Dropped), "/", *l.Why)]++
			default:
				p.added.New++
				counts[tallyPending]++
			}
		}
		for name, n := range p.counts {
			counts[name] += n
		}
		if p.lease == nil {
			continue
		}
		ends, again = append(ends, p.ends...), append(again, p.retries...)
		t := turn{Host: p.lease.key, Token: int64(p.lease.token), Wait: (p.wait - time.Since(p.begun)).Microseconds()}
		if h := p.host; h != nil {
			t.Condition, t.Pace = new(int16(h.Condition)), new(h.Pace.Microseconds())
			records = append(records, record{t.Host, h.Reason, int32(h.Width), h.Robots, h.Memory})
		}
		turns = append(turns, t)
	}
	if len(ends) > 0 {
		q.Queue(endSQL, columns(ends)...)
	}
	if len(again) > 0 {
		q.Queue(againSQL, columns(again, now)...)
	}
	if len(turns) > 0 {
		q.Queue(turnSQL, columns(turns, now, b.f.dir)...)
	}
	if len(records) > 0 {
		q.Queue(recordSQL, columns(records)...)
	}
	b.rest(q, counts)
}

func (b *batch) rest(q *pgx.Batch, counts map[string]int64) {
	var blobs []blob
	var seeds []seed
	seen := map[[32]byte]bool{}
	for _, p := range b.parts {
		for _, body := range p.blobs {
			if sum := sha256.Sum256(body); !seen[sum] {
				seen[sum] = true
				blobs = append(blobs, blob{sum[:], body})
			}
		}
		for _, s := range p.seeds {
			seeds = append(seeds, seed{s.URL.String(), []byte(s.Tag), text(s.From)})
		}
	}
	if len(blobs) > 0 {
		q.Queue("INSERT INTO blob SELECT * FROM unnest($1::bytea[],$2::bytea[]) l(sha,body) ORDER BY sha ON CONFLICT DO NOTHING", columns(blobs)...)
	}
	if len(seeds) > 0 { // one at a time, so that a reader of the last number has all before it
		q.Queue("LOCK TABLE seed IN SHARE ROW EXCLUSIVE MODE")
		q.Queue(`INSERT INTO seed(url,tag,from_url) SELECT url, coalesce(tag,''), from_url
			FROM unnest($1::text[],$2::bytea[],$3::text[]) WITH ORDINALITY l(url,tag,from_url,i) ORDER BY i`, columns(seeds)...)
	}
	var tallies []tally
	for name, n := range counts {
		if n != 0 {
			tallies = append(tallies, tally{name, n})
		}
	}
	if len(tallies) > 0 {
		q.Queue(`INSERT INTO tally SELECT $1,* FROM unnest($2::text[],$3::bigint[])
			ON CONFLICT (member,name) DO UPDATE SET n=tally.n+excluded.n`, columns(tallies, b.f.me)...)
	}
}

// Sync implements frontier.Engine.
func (f *Frontier) Sync(ctx context.Context) error {
	f.mu.Lock()
	err := f.usable()
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.commit(ctx, &job{})
}

// Quarantined implements frontier.Engine: nothing is quarantined yet.
func (f *Frontier) Quarantined(context.Context) ([]frontier.Candidate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return nil, f.usable()
}
