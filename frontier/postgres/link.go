package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// link is one connection, which one call at a time uses.
type link struct {
	place place
	free  chan struct{} // holds one token when nobody uses the connection
	conn  *pgx.Conn     // nil: to be made
}

func newLink(p place) *link {
	l := &link{place: p, free: make(chan struct{}, 1)}
	l.free <- struct{}{}
	return l
}

// callTime is how long one attempt of a call may take.
const callTime = 10 * time.Second

// do calls f with the connection, and again with a new one while the error may pass, until ctx ends.
func (l *link) do(ctx context.Context, f func(ctx context.Context, c *pgx.Conn) error) error {
	select {
	case <-l.free:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { l.free <- struct{}{} }()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := l.once(ctx, f)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !passing(err):
			return l.place.explain(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sure is do for the beginning: it does not wait for a server that is away.
func (l *link) sure(ctx context.Context, f func(ctx context.Context, c *pgx.Conn) error) error {
	<-l.free
	defer func() { l.free <- struct{}{} }()
	if err := l.once(ctx, f); err != nil {
		return l.place.explain(err)
	}
	return nil
}

// once is one attempt of do. A connection on which something failed is not used again. The caller holds the token.
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
		l.drop()
	}
	return err
}

// close ends the connection. Nobody uses it any more.
func (l *link) close() {
	<-l.free
	defer func() { l.free <- struct{}{} }()
	if l.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = l.conn.Close(ctx) // there is nothing left to lose
		<-l.conn.PgConn().CleanupDone()
		l.conn = nil
	}
}

// drop gives the connection up without a word to the server. The caller holds the token.
func (l *link) drop() {
	c := l.conn.PgConn()
	_ = c.Conn().Close()
	_ = l.conn.Close(context.Background()) // of a socket that is closed: it does not wait
	<-c.CleanupDone()
	l.conn = nil
}

// at puts the time into a statement: its first argument, or the server's clock when that is null.
func at(sql string) string {
	return strings.ReplaceAll(sql, "NOW", "coalesce($1::bigint,(extract(epoch from statement_timestamp())*1000000)::bigint)")
}
