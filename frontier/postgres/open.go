package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Dir identifies the crawl directory of a member.
type Dir [16]byte

type timing struct {
	ttl  time.Duration // a member whose beat did not change for so long is expired by another
	beat time.Duration // between heartbeats
	poll time.Duration // longest time between two looks of a claim that waits
	now  func() int64  // microseconds; nil for the server's clock. Tests use virtual time
}

// TTL is how long a member may be silent before others expire it, the same for all members of a crawl. Tests shorten
// it.
var TTL = 15 * time.Second

// Frontier is a session of one member.
type Frontier struct {
	reader
	o      frontier.Options
	t      timing
	member Member

	beats, claims, writes *link
	hurry                 *hurry // shared by the three

	ctx   context.Context // of the goroutines
	stop  context.CancelFunc
	tasks sync.WaitGroup

	claiming chan struct{} // holds one token when no claim waits
	jobs     chan *job     // for the writer

	mu      sync.Mutex // not held during calls of the server
	own     map[int]uint64
	taken   uint64 // counts the slots that became own
	leases  map[canon.Authority]*lease
	tokens  uint64
	expired int64 // leases, not yet written
	err     error // why everything ends
	closed  bool
	changed chan struct{} // closed, and replaced, at every change that a claim may wait for
	sharing bool          // the share of slots is not the fair one yet, or not reported

	known int64 // the last session that Options.Shared knows; used by the heartbeat

	onSeed func(canon.URL)
	seeds  int64 // number of the last seed that onSeed was called with; used by the claim
	asking asking
}

var (
	_ frontier.Frontier = (*Frontier)(nil)
	_ frontier.Member   = (*Frontier)(nil)
)

// Check returns an error for an invalid locator.
func Check(locator string) error {
	_, err := parse(locator)
	return err
}

// Create makes the crawl of a locator, with the settings of all members. Until enter has added the seeds, nobody else
// can open the crawl; an error of enter removes it. Without enter there are no seeds.
func Create(ctx context.Context, m Member, settings []byte, enter func(*Frontier) error) error {
	p, err := parse(m.Locator)
	if err != nil {
		return err
	}
	secret := make([]byte, 32)
	rand.Read(secret)
	l := newLink(p, nil)
	defer l.close()
	err = l.sure(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "CREATE SCHEMA curtsy_"+p.crawl); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, schemaSQL); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "INSERT INTO crawl(format,secret,settings) VALUES($1,$2,$3)", format, secret, append([]byte{}, settings...))
			return err
		})
	})
	if errors.Is(err, errExists) {
		if _, why := Settings(ctx, m.Locator); errors.Is(why, errSeeds) {
			return why
		}
	}
	if err != nil {
		return err
	}
	if enter != nil {
		err = m.enter(enter)
	}
	if err == nil {
		return l.do(ctx, func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, "UPDATE crawl SET whole=true")
			return err
		})
	}
	_ = l.sure(context.WithoutCancel(ctx), func(ctx context.Context, c *pgx.Conn) error { // if it stays, all refuse it
		_, err := c.Exec(ctx, p.drop())
		return err
	})
	return err
}

func (m Member) enter(enter func(*Frontier) error) error {
	m.entering = true
	f, err := Open(m, frontier.Options{})
	if err != nil {
		return err
	}
	if err = enter(f); err != nil {
		f.Hurry(time.Second)
	}
	return errors.Join(err, f.Close())
}

func Settings(ctx context.Context, locator string) (settings []byte, err error) {
	p, err := parse(locator)
	if err != nil {
		return nil, err
	}
	l := newLink(p, nil)
	defer l.close()
	return settings, l.sure(ctx, func(ctx context.Context, c *pgx.Conn) error {
		var fixed string
		err := c.QueryRow(ctx, "SHOW transaction_read_only").Scan(&fixed)
		if err == nil {
			_, settings, err = head(ctx, c, false)
		}
		if err == nil && fixed == "on" {
			err = errReadOnly
		}
		return err
	})
}

// head reads the head of a crawl, and refuses one that this version cannot take part in.
func head(ctx context.Context, c interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, entering bool) (secret, settings []byte, err error) {
	var version int
	var commit string
	var whole bool
	err = c.QueryRow(ctx, "SELECT format, secret, settings, whole, current_setting('synchronous_commit') FROM crawl").
		Scan(&version, &secret, &settings, &whole, &commit)
	switch {
	case err != nil:
	case version > format:
		err = fmt.Errorf("the crawl was created by a newer curtsy (format %d): %w", version, frontier.ErrNewer)
	case version < format:
		err = fmt.Errorf("the crawl was created by an older curtsy (format %d): %w", version, frontier.ErrOlder)
	case commit == "off":
		err = errSynchronous
	case !whole && !entering:
		err = errSeeds
	}
	return secret, settings, err
}

var errSeeds = errors.New("lacks seeds")

var errSynchronous = errors.New("the server has synchronous_commit=off and would lose pages at a crash: set it to on for this user or database")

// Member is a crawl directory that takes part in a crawl.
type Member struct {
	Locator string
	Dir     Dir
	Name    string // for messages

	// Place is the machine and the path. A process that opens a directory holds it, so a session of the same place that
	// did not end belongs to a process that has died.
	Place string

	entering bool // seeds may be missing
}

// Open begins a session of a member. A session of the same directory that has not ended is expired at once if its place
// is the same, and else after TTL of silence; frontier.ErrInUse reports that it is not silent.
func Open(m Member, o frontier.Options) (*Frontier, error) {
	return open(m, o, timing{ttl: TTL, beat: 500 * time.Millisecond, poll: 500 * time.Millisecond})
}

func open(m Member, o frontier.Options, t timing) (*Frontier, error) {
	p, err := parse(m.Locator)
	if err == nil {
		err = checkSupported(o)
	}
	if err != nil {
		return nil, err
	}
	if o.LeaseLength == 0 {
		o.LeaseLength = 40 * time.Minute
	}
	h := &hurry{say: o.Say, calls: map[*int]context.CancelFunc{}}
	p.config.RuntimeParams["idle_in_transaction_session_timeout"] = fmt.Sprint(min(t.ttl*2/3, time.Hour).Milliseconds())
	f := &Frontier{
		o: o, t: t, member: m,
		beats: newLink(p, h), claims: newLink(p, h), writes: newLink(p, h), hurry: h,
		claiming: make(chan struct{}, 1), jobs: make(chan *job, 64),
		own: map[int]uint64{}, leases: map[canon.Authority]*lease{}, changed: make(chan struct{}),
		asking: asking{ends: map[*int]context.CancelCauseFunc{}},
	}
	f.claiming <- struct{}{}
	f.reader = reader{link: f.claims, dir: m.Dir, now: t.now, local: f}
	f.ctx, f.stop = context.WithCancel(context.Background())
	if err := f.join(f.ctx); err != nil {
		f.release()
		return nil, fmt.Errorf("frontier/postgres: open: %w", err)
	}
	f.tasks.Go(f.beat)
	f.tasks.Go(f.write)
	return f, nil
}

// checkSupported refuses options that would apply to each member separately.
func checkSupported(o frontier.Options) error {
	switch {
	case o.MaxURLs > 0 || o.MaxURLsPerDomain > 0 || o.MaxURLsPerAuthority > 0:
		return errors.New("limits on the number of URLs are not supported in a fleet yet")
	case o.MaxSize > 0:
		return errors.New("a limit on the size of the frontier is not supported in a fleet: the server's disk has others")
	case o.Order != frontier.BreadthFirst:
		return errors.New("depth first is not supported in a fleet yet")
	}
	return nil
}

// join inserts the session and takes its first slots. It does not wait for a server that is away.
func (f *Frontier) join(ctx context.Context) error {
	var before, beat int64
	var elsewhere bool
	err := f.beats.sure(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		if f.secret, _, err = head(ctx, c, f.member.entering); err != nil {
			return err
		}
		var state int
		var place string
		err = c.QueryRow(ctx, "SELECT id, state, beat, place FROM member WHERE dir=$1 ORDER BY id DESC LIMIT 1", f.dir).Scan(&before, &state, &beat, &place)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		f.unclean = state != left
		elsewhere = state == alive && place != f.member.Place
		return err
	})
	if err == nil && elsewhere {
		err = f.checkSilent(ctx, before, beat)
	}
	if err == nil {
		err = f.beats.sure(ctx, func(ctx context.Context, c *pgx.Conn) error {
			return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return f.begin(ctx, tx, before) })
		})
	}
	if err != nil {
		return err
	}
	f.restarts = f.me - 1
	return f.beats.do(ctx, f.pulse)
}

// checkSilent returns nil when a session has been silent for a TTL, and an error when it is not.
func (f *Frontier) checkSilent(ctx context.Context, id, beat int64) error {
	for begin := time.Now(); time.Since(begin) < f.t.ttl; {
		select {
		case <-time.After(min(time.Second, f.t.ttl)):
		case <-ctx.Done():
			return ctx.Err()
		}
		var now int64
		err := f.beats.do(ctx, func(ctx context.Context, c *pgx.Conn) error {
			return c.QueryRow(ctx, "SELECT beat FROM member WHERE id=$1", id).Scan(&now)
		})
		if err != nil {
			return err
		}
		if now != beat {
			return fmt.Errorf("%s is a copy of a crawl directory that a crawl has open elsewhere: use curtsy join for another member: %w", f.member.Name, frontier.ErrInUse)
		}
	}
	return nil
}

// begin inserts the session, after it has expired the previous one of the same directory.
func (f *Frontier) begin(ctx context.Context, tx pgx.Tx, before int64) error {
	if _, err := tx.Exec(ctx, "SELECT FROM crawl FOR UPDATE"); err != nil { // one join at a time
		return err
	}
	if _, err := tx.Exec(ctx, "UPDATE member SET state=2 WHERE id=$1 AND state=0", before); err != nil {
		return err
	}
	// With no other member alive this is a new run, which opens retired hosts.
	_, err := tx.Exec(ctx, `WITH u AS (UPDATE crawl SET run=run+1 WHERE NOT EXISTS(SELECT FROM member WHERE state=0) RETURNING 1),
		r AS (UPDATE host SET cond=0 FROM u WHERE cond=2 RETURNING id)
		UPDATE hrec SET reason='' FROM r WHERE hrec.id=r.id`)
	if err != nil {
		return err
	}
	return tx.QueryRow(ctx, `INSERT INTO member(dir,name,place,software) VALUES($1,$2,$3,'curtsy')
		RETURNING id, (SELECT coalesce(max(n),0) FROM seed)`, f.dir, text(f.member.Name), text(f.member.Place)).Scan(&f.me, &f.seeds)
}

// usable returns why f takes no calls, or nil. The caller holds mu.
func (f *Frontier) usable() error {
	switch {
	case f.closed:
		return frontier.ErrClosed
	case f.err != nil:
		return f.err
	}
	return nil
}

// broadcast wakes a claim that waits. The caller holds mu.
func (f *Frontier) broadcast() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// fail ends all use of f with an error of the member's own state.
func (f *Frontier) fail(err error) {
	f.mu.Lock()
	if f.err == nil {
		f.err = f.explainUncommitted(err)
	}
	f.broadcast()
	f.mu.Unlock()
	f.asking.mu.Lock()
	defer f.asking.mu.Unlock()
	f.asking.lost = err
	f.asking.cancel(err)
}

// explainUncommitted adds the consequences to the error of a server that is away. The caller holds mu.
func (f *Frontier) explainUncommitted(err error) error {
	if !errors.Is(err, errAway) {
		return err
	}
	if len(f.leases) == 0 {
		return fmt.Errorf("%w, all results are committed; continue with curtsy resume %s", err, f.member.Name)
	}
	return fmt.Errorf("%w, results not committed: %d; curtsy resume %s fetches their pages again", err, len(f.leases), f.member.Name)
}

// Hurry implements frontier.Member.
func (f *Frontier) Hurry(within time.Duration) { f.hurry.set(within) }

// Close implements frontier.Engine. The member leaves: others take its slots at once.
func (f *Frontier) Close() error {
	f.mu.Lock()
	err := f.usable()
	f.closed = true
	f.broadcast()
	f.mu.Unlock()
	switch {
	case err == nil:
		if err = f.leave(); errors.Is(err, errAway) {
			err = fmt.Errorf("%w, all results are committed; other members take the hosts of %s after %v", err, f.member.Name, f.t.ttl)
		}
	case errors.Is(err, errAway):
		err = nil // the run has ended with it
	}
	f.release()
	if errors.Is(err, frontier.ErrLost) {
		return nil // the run has ended with it, and nothing of this session is left on the server
	}
	return err
}

// leave commits all jobs, then ends the session. An operator's session leaves an unclean stop before it to the next
// run.
func (f *Frontier) leave() error {
	if err := f.commit(f.ctx, &job{}); err != nil {
		return err
	}
	state := left
	if f.o.Operator && f.unclean {
		state = expired
	}
	return f.writes.do(f.ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "UPDATE member SET state=$2 WHERE id=$1 AND state=0", f.me, state)
		return err
	})
}

// release ends the goroutines and the connections.
func (f *Frontier) release() {
	f.stop()
	f.tasks.Wait()
	f.asking.mu.Lock()
	if f.asking.stopped = true; f.asking.timer != nil {
		f.asking.timer.Stop()
	}
	f.asking.mu.Unlock()
	for _, l := range []*link{f.beats, f.claims, f.writes} {
		l.close()
	}
}

const format = 1 // of the schema

// schemaSQL makes the tables of a crawl in its own schema. Times are microseconds of the server's clock.
const schemaSQL = `
CREATE TABLE crawl(one bool PRIMARY KEY DEFAULT true CHECK(one), format int NOT NULL, id uuid NOT NULL DEFAULT gen_random_uuid(),
  secret bytea NOT NULL, settings bytea NOT NULL, run bigint NOT NULL DEFAULT 0,
  whole bool NOT NULL DEFAULT false);
CREATE TABLE member(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, dir uuid NOT NULL, name text NOT NULL, place text NOT NULL,
  state smallint NOT NULL DEFAULT 0, beat bigint NOT NULL DEFAULT 0, software text NOT NULL) WITH (fillfactor=20);
CREATE UNIQUE INDEX ON member(dir) WHERE state=0;
CREATE TABLE slot(id smallint PRIMARY KEY, owner bigint REFERENCES member, gate bigint NOT NULL DEFAULT 0) WITH (fillfactor=20);
INSERT INTO slot(id) SELECT generate_series(0,255);
CREATE TABLE host(id bigint PRIMARY KEY, slot smallint NOT NULL, auth text COLLATE "C" NOT NULL,
  due bigint NOT NULL DEFAULT 0, nb bigint NOT NULL DEFAULT 0, pace bigint NOT NULL, queued int NOT NULL DEFAULT 0,
  deferred int NOT NULL DEFAULT 0, cond smallint NOT NULL DEFAULT 0, hold smallint NOT NULL DEFAULT 0, hold_until bigint,
  last bigint NOT NULL DEFAULT 0, dir uuid, ends bigint[] NOT NULL DEFAULT '{0,0,0,0,0,0,0}')
  WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_cost_delay=0);
CREATE INDEX ON host(slot,due) WHERE queued+deferred>0 AND cond<2 AND hold<>2;
CREATE INDEX ON host(auth);
CREATE TABLE hrec(id bigint PRIMARY KEY, reason text NOT NULL DEFAULT '', hold_reason text NOT NULL DEFAULT '',
  width int NOT NULL DEFAULT 0, robots bytea, memory bytea) WITH (fillfactor=60);
CREATE SEQUENCE batch;
CREATE TABLE url(host bigint, fp bigint, seq bigint NOT NULL, st smallint NOT NULL DEFAULT 0, why text, u text, c bytea, PRIMARY KEY(host,fp));
CREATE INDEX ON url(host,seq) WHERE st=0;
CREATE TABLE retry(host bigint, fp bigint, due bigint NOT NULL, attempts int NOT NULL, reason text NOT NULL, replaced text, PRIMARY KEY(host,fp));
CREATE TABLE tally(member bigint, name text, n bigint NOT NULL, PRIMARY KEY(member,name)) WITH (fillfactor=20);
CREATE TABLE seed(n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, url text NOT NULL, tag bytea NOT NULL, from_url text NOT NULL);
CREATE TABLE blob(sha bytea PRIMARY KEY, body bytea NOT NULL);`

// The states of a URL, besides the outcomes 1 to 7.
const (
	urlQueued   = 0
	urlDeferred = 8
	urlRefused  = 10
)

const (
	alive   = 0
	left    = 1
	expired = 2
)
