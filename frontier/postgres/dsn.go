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
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Scheme begins the locators of this engine.
const Scheme = "postgres://"

// place is where a crawl is kept: how to connect, and its name there.
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

// drop is the statement that removes the crawl.
func (p place) drop() string { return "DROP SCHEMA curtsy_" + p.crawl + " CASCADE" }

var errReadOnly = errors.New("the server is read-only: name the primary")

var errExists = errors.New("exists: use curtsy join, or another name")

// server names the server for people.
func (p place) server() string {
	return net.JoinHostPort(p.config.Host, fmt.Sprint(p.config.Port))
}

// explain turns an error of the server into what a user can act on.
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
	if pg.Code == "42P06" || pg.ConstraintName == "pg_namespace_nspname_index" { // two create it at one time
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

// cause is what the system says, or else the last error in a chain.
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
// turned into a standby, or another transaction was in the way.
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
