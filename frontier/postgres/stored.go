package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Stored is a frontier that is open for reading. The crawl may go on meanwhile.
type Stored struct{ reader }

var _ frontier.Stored = (*Stored)(nil)

// OpenReadOnly opens the frontier that a locator names for reading, as the member with that directory sees it.
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

// Add implements frontier.Frontier.
func (*Stored) Add(context.Context, []frontier.Candidate) (frontier.Added, error) {
	return frontier.Added{}, frontier.ErrReadOnly
}

// Claim implements frontier.Frontier.
func (*Stored) Claim(context.Context, frontier.Want) (frontier.Claimed, error) {
	return frontier.Claimed{}, frontier.ErrReadOnly
}

// ClaimAuthority implements frontier.Frontier.
func (*Stored) ClaimAuthority(context.Context, canon.Authority) (frontier.Turn, error) {
	return frontier.Turn{}, frontier.ErrReadOnly
}

// Finish implements frontier.Frontier.
func (*Stored) Finish(context.Context, []frontier.Result) ([]frontier.Finished, error) {
	return nil, frontier.ErrReadOnly
}

// Sync implements frontier.Frontier.
func (*Stored) Sync(context.Context) error { return frontier.ErrReadOnly }

// Quarantined implements frontier.Frontier.
func (*Stored) Quarantined(context.Context) ([]frontier.Candidate, error) { return nil, nil }

// Retry implements frontier.Frontier.
func (*Stored) Retry(context.Context, frontier.Retrial) (frontier.Retried, error) {
	return frontier.Retried{}, frontier.ErrReadOnly
}

// Steer implements frontier.Frontier.
func (*Stored) Steer(context.Context, frontier.Steering) (frontier.Steered, error) {
	return frontier.Steered{}, frontier.ErrReadOnly
}

// Snapshot implements frontier.Frontier.
func (*Stored) Snapshot(context.Context, string) error { return frontier.ErrNoSnapshot }

// Export implements frontier.Stored.
func (*Stored) Export(context.Context, func(frontier.Item) error) error {
	return fmt.Errorf("a list of all URLs: %w", errUnsupported)
}

// List implements frontier.Stored.
func (s *Stored) List(ctx context.Context, yield func(frontier.Item) error) error {
	return s.Export(ctx, yield)
}
