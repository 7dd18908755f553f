package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"curtsy/frontier"
)

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

// Steer implements frontier.Operator, all of it but Drop. It reaches the owner with its next claim.
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
