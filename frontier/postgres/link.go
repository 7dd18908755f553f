package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Scheme starts the locators of this engine.
const Scheme = "postgres://"

// place is the location of a crawl: the server and the crawl's name.
type place struct {
	config *pgx.ConnConfig
	crawl  string
}

var crawlName = regexp.MustCompile(`^[a-z0-9_]{1,40}$`)

// parse reads a locator: libpq's parameters as a URL, and crawl=NAME.
func parse(locator string) (place, error) {
	u, err := url.Parse(locator)
	if err != nil || !strings.HasPrefix(locator, Scheme) {
		return place{}, errors.New("the frontier is not a URL like postgres://user@host/database?crawl=NAME")
	}
	q := u.Query()
	if _, ok := u.User.Password(); ok || q.Has("password") {
		return place{}, errors.New("the frontier's URL must not contain the password: set PGPASSWORD, or PGPASSFILE, or use a service file")
	}
	p := place{crawl: q.Get("crawl")}
	if !crawlName.MatchString(p.crawl) {
		return place{}, errors.New("the frontier's URL has no valid crawl=NAME: a name is 1 to 40 of a-z, 0-9 and _")
	}
	q.Del("crawl")
	u.RawQuery = q.Encode()
	if p.config, err = pgx.ParseConfig(u.String()); err != nil {
		return place{}, fmt.Errorf("the frontier's URL: %w", err)
	}
	p.config.RuntimeParams["search_path"] = "curtsy_" + p.crawl
	p.config.RuntimeParams["application_name"] = "curtsy"
	return p, nil
}

func (p place) drop() string { return "DROP SCHEMA curtsy_" + p.crawl + " CASCADE" }

var errReadOnly = errors.New("the server is read-only: name the primary")

var errExists = errors.New("exists: use curtsy join, or another name")

func (p place) server() string {
	return net.JoinHostPort(p.config.Host, fmt.Sprint(p.config.Port))
}

// explain adds advice to an error of the server.
func (p place) explain(err error) error {
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	if errors.Is(err, errSeeds) {
		return fmt.Errorf("crawl %q %w: wait until curtsy crawl has entered them; if it was killed, run %s, then create the crawl again", p.crawl, errSeeds, p.drop())
	}
	if !errors.As(err, &pg) {
		if errors.As(err, &connect) {
			return fmt.Errorf("no server at %s (%w): is it running?", p.server(), cause(err))
		}
		return err
	}
	if pg.Code == "42P06" || pg.ConstraintName == "pg_namespace_nspname_index" { // two processes create it at once
		return fmt.Errorf("crawl %q %w", p.crawl, errExists)
	}
	switch pg.Code {
	case "28P01", "28000":
		return fmt.Errorf("the server at %s rejects the user or password: set PGPASSWORD or PGPASSFILE (%s)", p.server(), pg.Message)
	case "3D000":
		return fmt.Errorf("%s: create the database first", pg.Message)
	case "42501":
		return fmt.Errorf("%s: grant the user CREATE on the database", pg.Message)
	case "42P01", "3F000":
		return fmt.Errorf("no crawl %q in database %q: create it with curtsy crawl --frontier", p.crawl, p.config.Database)
	case "25006":
		return errReadOnly
	case "53100":
		return fmt.Errorf("the disk of the server at %s is full (%s): free space there", p.server(), pg.Message)
	}
	return err
}

// cause returns the system's error, or else the last one in the chain.
func cause(err error) error {
	var system syscall.Errno
	if errors.As(err, &system) {
		return system
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// passing reports whether a call that failed may succeed later: the connection broke, the server restarts, is full or
// became a standby, or another transaction was in the way.
func passing(err error) bool {
	var pg *pgconn.PgError
	var broken net.Error
	if !errors.As(err, &pg) {
		return errors.As(err, &broken) || pgconn.SafeToRetry(err) || errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed)
	}
	switch cmp.Or(pg.Code, "?????")[:2] {
	case "08", "53", "57", "58": // connection, resources, operator's intervention, system
		return true
	}
	return pg.Code == "40001" || pg.Code == "40P01" || pg.Code == "25006" || pg.Code == "25P03"
}

// link is one connection, used by one call at a time.
type link struct {
	place place
	hurry *hurry
	free  chan struct{} // holds one token while the connection is idle
	conn  *pgx.Conn     // nil: not connected
}

func newLink(p place, h *hurry) *link {
	l := &link{place: p, hurry: h, free: make(chan struct{}, 1)}
	l.free <- struct{}{}
	return l
}

const callTime = 10 * time.Second // for one attempt of a call

// hurry bounds how long calls wait for the server; nil does not.
type hurry struct {
	mu    sync.Mutex
	most  time.Duration // 0: no bound
	calls map[*int]context.CancelFunc

	say    func(format string, args ...any)
	waiter *link // the link that has reported its wait
}

const sayAfter = 5 * time.Second // how long a call fails before it is reported

// waits reports that a link waits for the server, because of err, or with nil that it no longer does.
func (h *hurry) waits(l *link, err error) {
	if h == nil || h.say == nil {
		return
	}
	h.mu.Lock()
	before := h.waiter
	switch {
	case err != nil && before == nil:
		h.waiter = l
	case err == nil && before == l:
		h.waiter = nil
	default:
		err, before = nil, nil
	}
	h.mu.Unlock()
	switch explained := l.place.explain(err); {
	case err != nil && !errors.Is(explained, err) && errors.As(err, new(*pgconn.PgError)):
		h.say("%v; the crawl waits for it", explained)
	case err != nil:
		h.say("no reply from the server at %s (%v): requesting nothing until it replies", l.place.server(), cause(err))
	case before != nil:
		h.say("the server at %s replies again", l.place.server())
	}
}

var errAway = errors.New("no reply from the server")

// bound returns a context that also ends at the bound.
func (h *hurry) bound(ctx context.Context) (bounded context.Context, done func()) {
	bounded, end := context.WithCancel(ctx)
	if h == nil {
		return bounded, end
	}
	key := new(int)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls[key] = end; h.most > 0 {
		time.AfterFunc(h.most, end)
	}
	return bounded, func() {
		end()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.calls, key)
	}
}

// set sets the bound, unless it is lower already, for current and later calls.
func (h *hurry) set(most time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.most > 0 && h.most <= most {
		return
	}
	h.most = most
	for _, end := range h.calls {
		time.AfterFunc(most, end)
	}
}

// do calls f with the connection, and again with a new one while the error is passing, until ctx ends or the bound is
// reached.
func (l *link) do(ctx context.Context, f func(ctx context.Context, c *pgx.Conn) error) error {
	bounded, done := l.hurry.bound(ctx)
	defer done()
	select {
	case <-l.free:
	case <-bounded.Done():
		return cmp.Or(ctx.Err(), l.away(nil))
	}
	defer func() { l.free <- struct{}{} }()
	var last error
	begin := time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := l.once(bounded, f)
		switch {
		case err == nil:
			l.hurry.waits(l, nil)
			return nil
		case bounded.Err() != nil:
		case !passing(err):
			return l.place.explain(err)
		default:
			if last = err; time.Since(begin) > sayAfter {
				l.hurry.waits(l, err)
			}
		}
		select {
		case <-time.After(pause):
		case <-bounded.Done():
			return cmp.Or(ctx.Err(), l.away(last))
		}
	}
}

// away returns the error of a call that reached the bound. last is that of its last attempt, or nil.
func (l *link) away(last error) error {
	if last == nil {
		return fmt.Errorf("%w at %s", errAway, l.place.server())
	}
	return fmt.Errorf("%w at %s (%w)", errAway, l.place.server(), cause(last))
}

// sure is do for an opening: it does not wait for a server that is away.
func (l *link) sure(ctx context.Context, f func(ctx context.Context, c *pgx.Conn) error) error {
	<-l.free
	defer func() { l.free <- struct{}{} }()
	if err := l.once(ctx, f); err != nil {
		return l.place.explain(err)
	}
	return nil
}

// once is one attempt of do. It drops the connection after an error. The caller holds the token.
func (l *link) once(ctx context.Context, f func(ctx context.Context, c *pgx.Conn) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if l.conn == nil {
		if l.conn, err = pgx.ConnectConfig(ctx, l.place.config); err != nil {
			l.conn = nil
			return err
		}
	}
	if err = f(ctx, l.conn); err != nil {
		c := l.conn.PgConn()
		_ = c.Conn().Close()
		_ = l.conn.Close(context.Background()) // does not wait: the socket is closed
		<-c.CleanupDone()
		l.conn = nil
	}
	return err
}

// close ends the connection, which is not used any more.
func (l *link) close() {
	<-l.free
	defer func() { l.free <- struct{}{} }()
	if l.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = l.conn.Close(ctx) // nothing can be lost
		<-l.conn.PgConn().CleanupDone()
		l.conn = nil
	}
}

// at replaces NOW in a statement by its first argument, or the server's clock when that is null.
func at(sql string) string {
	return strings.ReplaceAll(sql, "NOW", "coalesce($1::bigint,(extract(epoch from statement_timestamp())*1000000)::bigint)")
}
