package postgres

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

var errExpired = errors.New("the session has expired")

// beat keeps the member alive and its slots balanced, until f is released.
func (f *Frontier) beat() {
	seen, last := map[int64]sighting{}, time.Now()
	for {
		wait := f.t.beat
		f.mu.Lock()
		if f.sharing {
			wait = min(wait, 100*time.Millisecond)
		}
		f.mu.Unlock()
		select {
		case <-time.After(wait):
		case <-f.ctx.Done():
			return
		}
		err := f.beats.do(f.ctx, func(ctx context.Context, c *pgx.Conn) error {
			if time.Since(last) > f.t.ttl/3 { // in an outage the others were silent as well
				clear(seen)
			}
			if err := f.pulse(ctx, c); err != nil {
				return err
			}
			return f.expire(ctx, c, seen)
		})
		last = time.Now()
		switch {
		case f.ctx.Err() != nil:
			return
		case errors.Is(err, errExpired):
			_ = f.lose() // f keeps it
			return
		case err != nil:
			f.fail(err)
			return
		}
	}
}

func (f *Frontier) lose() error {
	err := fmt.Errorf("%s was silent for %v, other members own its hosts: run curtsy resume %s: %w", f.member.Name, f.t.ttl, f.member.Name, frontier.ErrLost)
	f.fail(err)
	return err
}

// pulse is one heartbeat (B1) and its consequences: it takes free slots (B3), and gives those above the fair share (B4)
// that have no lease out. The member owns the slots that the server returns.
func (f *Frontier) pulse(ctx context.Context, c *pgx.Conn) error {
	sent := instantNow()
	n, err := c.Exec(ctx, "UPDATE member SET beat=beat+1 WHERE id=$1 AND state=0", f.me)
	if err != nil {
		return err
	}
	if n.RowsAffected() == 0 {
		return errExpired
	}
	f.asking.mu.Lock()
	f.asking.until = sent.add(f.t.ttl * 2 / 3)
	f.asking.arm()
	f.asking.mu.Unlock()
	_, err = c.Exec(ctx, at(`WITH fair AS (SELECT ceil(256.0/greatest(count(*),1))::int n FROM member WHERE state=0),
		free AS (SELECT s.id, s.owner FROM slot s WHERE s.owner IS NULL OR EXISTS(SELECT 1 FROM member d WHERE d.id=s.owner AND d.state<>0)
			ORDER BY random() LIMIT greatest((SELECT n FROM fair)-(SELECT count(*) FROM slot WHERE owner=$2),0) FOR UPDATE OF s SKIP LOCKED)
		UPDATE slot s SET owner=$2, gate=CASE WHEN free.owner IS NULL THEN s.gate ELSE NOW END FROM free WHERE s.id=free.id`), f.clock(), f.me)
	if err != nil {
		return err
	}
	share := frontier.Share{Asked: time.Now()}
	var own []int
	var members int
	var now, last int64
	err = c.QueryRow(ctx, at(`SELECT id::text, (SELECT dir::text FROM member WHERE id=$2), NOW, (SELECT coalesce(array_agg(id ORDER BY id),'{}') FROM slot WHERE owner=$2),
		(SELECT count(*) FROM member WHERE state=0), (SELECT max(id) FROM member) FROM crawl`), f.clock(), f.me).Scan(&share.Crawl, &share.Dir, &now, &own, &members, &last)
	if err != nil {
		return err
	}
	share.Server = time.UnixMicro(now)
	surplus := f.owns(&share, own, max(members, 1))
	if last > f.known && f.o.Shared != nil {
		if share.Members, err = f.members(ctx, c); err != nil {
			return err
		}
	}
	if len(share.Taken)+len(share.Given)+len(share.Members) > 0 && f.tell(share) {
		f.known = last
	}
	if len(surplus) > 0 {
		_, err = c.Exec(ctx, "UPDATE slot SET owner=NULL WHERE owner=$1 AND id=ANY($2)", f.me, surplus)
	}
	return err
}

// members returns the directories and names of sessions that Options.Shared does not know.
func (f *Frontier) members(ctx context.Context, c *pgx.Conn) (map[string]string, error) {
	rows, err := c.Query(ctx, "SELECT dir::text, name FROM member WHERE id>$1", f.known)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	var dir, name string
	_, err = pgx.ForEachRow(rows, []any{&dir, &name}, func() error { all[dir] = filepath.Base(name); return nil })
	return all, err
}

// owns compares the slots that the member owns by the server with those that it uses, and returns the surplus. It stops
// using these: a claim under way discards their hosts.
func (f *Frontier) owns(share *frontier.Share, all []int, members int) (surplus []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[int]bool{}
	for a := range f.leases {
		out[a.Slot()] = true
	}
	more := len(all) - (canon.Slots+members-1)/members
	for _, id := range all {
		switch {
		case more > 0 && !out[id]:
			surplus = append(surplus, id)
			more--
			if f.own[id] != 0 {
				share.Given = append(share.Given, id)
				delete(f.own, id)
			}
		case f.own[id] == 0:
			share.Taken = append(share.Taken, id)
		}
	}
	f.sharing = len(all) < canon.Slots/members || len(surplus) > 0 || more > 0
	return surplus
}

// tell calls Options.Shared with a change. Afterwards the member uses the slots that it has taken.
func (f *Frontier) tell(share frontier.Share) bool {
	recorded := f.o.Shared == nil || f.o.Shared(share)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !recorded {
		f.sharing = true
		return false
	}
	for _, id := range share.Taken {
		f.taken++
		f.own[id] = f.taken
		f.broadcast()
	}
	return true
}

type sighting struct {
	beat  int64
	since time.Time
}

// expire expires members whose beat did not change for a whole TTL of the own monotonic clock (B2).
func (f *Frontier) expire(ctx context.Context, c *pgx.Conn, seen map[int64]sighting) error {
	rows, err := c.Query(ctx, "SELECT id, beat FROM member WHERE state=0 AND id<>$1", f.me)
	if err != nil {
		return err
	}
	now := time.Now()
	var id, beat int64
	var silent []int64
	_, err = pgx.ForEachRow(rows, []any{&id, &beat}, func() error {
		if s, ok := seen[id]; !ok || s.beat != beat {
			seen[id] = sighting{beat, now}
		} else if now.Sub(s.since) >= f.t.ttl {
			silent = append(silent, id)
		}
		return nil
	})
	for _, id := range silent {
		if err == nil {
			_, err = c.Exec(ctx, "UPDATE member SET state=2 WHERE id=$1 AND beat=$2 AND state=0", id, seen[id].beat)
		}
	}
	return err
}

// asking is the time until which the member may send requests, counted from a heartbeat that the server has confirmed.
type asking struct {
	mu      sync.Mutex
	until   instant
	lost    error // permanently
	timer   *time.Timer
	stopped bool
	ends    map[*int]context.CancelCauseFunc
}

var errSilent = errors.New("no reply from the frontier's server")

// arm ends the exchanges under way at until. The caller holds mu.
func (a *asking) arm() {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.timer = time.AfterFunc(a.until.left(), func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		switch {
		case a.stopped:
		case a.until.left() <= 0:
			a.cancel(errSilent)
		default: // extended, or the clocks differ by a moment
			a.arm()
		}
	})
}

func (a *asking) cancel(why error) {
	for _, end := range a.ends {
		end(why)
	}
}

// MayAsk implements frontier.Member.
func (f *Frontier) MayAsk() error {
	f.asking.mu.Lock()
	defer f.asking.mu.Unlock()
	switch {
	case f.asking.lost != nil:
		return f.asking.lost
	case f.asking.until.left() <= 0:
		return errSilent
	}
	return nil
}

// OnSeed implements frontier.Member.
func (f *Frontier) OnSeed(do func(canon.URL)) { f.onSeed = do }

// Asking implements frontier.Member.
func (f *Frontier) Asking(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if err := f.MayAsk(); err != nil {
		cancel(err)
	}
	key := new(int)
	f.asking.mu.Lock()
	f.asking.ends[key] = cancel
	f.asking.mu.Unlock()
	return ctx, func() {
		f.asking.mu.Lock()
		delete(f.asking.ends, key)
		f.asking.mu.Unlock()
		cancel(context.Canceled)
	}
}
