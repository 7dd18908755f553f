package crawlcmd

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"curtsy/crawler/status"
)

// watched is a running crawl, as far as its events go.
type watched interface {
	Status(ctx context.Context) (status.Status, error)
	Estimate(ctx context.Context) (status.Estimate, error)
}

// Times between two looks at the crawl, and between two events of its progress.
const (
	journalLookEvery = time.Second
	progressEvery    = 10 * time.Second
)

// follower says what has changed since it last looked.
type follower struct {
	j       *journal
	looked  bool
	state   string
	classes map[string]bool
	resting map[string]bool
	said    time.Duration // the estimate
	next    time.Time     // of progress
}

// Follow tells of a crawl until ctx ends: its state, hosts that are left alone and that go on, failures as they begin,
// progress every ten seconds, and an estimate at the start and whenever it doubles. It tells lost of the first event that
// nobody could be told.
func (j *journal) Follow(ctx context.Context, c watched, lost func(error)) {
	f := follower{j: j, classes: map[string]bool{}, resting: map[string]bool{}, next: time.Now().Add(progressEvery)}
	looks := time.NewTicker(journalLookEvery)
	defer looks.Stop()
	for {
		s, err := c.Status(ctx)
		if err == nil {
			err = f.look(s)
			if e, none := c.Estimate(ctx); none == nil && err == nil {
				err = f.estimate(s, e)
			}
			if err != nil {
				lost(err)
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-looks.C:
		}
	}
}

func (f *follower) look(s status.Status) error {
	first := !f.looked
	f.looked = true
	if f.state != s.State {
		f.state = s.State
		facts := []slog.Attr{slog.String("state", s.State)}
		if s.Opens != nil {
			facts = append(facts, slog.Time("opens", *s.Opens))
		}
		if err := f.j.Tell(slog.LevelInfo, journalState, facts...); err != nil {
			return err
		}
	}
	for _, class := range slices.Sorted(maps.Keys(s.Failures)) {
		if f.classes[class] {
			continue
		}
		f.classes[class] = true
		if first { // of a run before
			continue
		}
		if err := f.j.Tell(slog.LevelWarn, fails, slog.String("class", class), slog.Int64("count", s.Failures[class])); err != nil {
			return err
		}
	}
	if err := f.rest(s.Resting); err != nil {
		return err
	}
	if now := time.Now(); !now.Before(f.next) {
		f.next = now.Add(progressEvery)
		return f.j.Tell(slog.LevelInfo, journalProgress, figures(s)...)
	}
	return nil
}

// rest tells which hosts are left alone now, and which no more. The status names the first of them, so that of many some
// are told of later, when others have gone on.
func (f *follower) rest(all []status.Resting) error {
	now := map[string]bool{}
	for _, r := range all {
		if now[r.Host] = true; f.resting[r.Host] {
			continue
		}
		facts := []slog.Attr{
			slog.String("host", r.Host), slog.String("condition", r.Condition), slog.String("reason", r.Reason), slog.Int64("pending", r.Pending),
		}
		if r.Wait > 0 {
			facts = append(facts, slog.Float64("wait_s", r.Wait))
		}
		if err := f.j.Tell(slog.LevelWarn, leftAlone, facts...); err != nil {
			return err
		}
	}
	for _, host := range slices.Sorted(maps.Keys(f.resting)) {
		if now[host] || len(all) == status.MaxResting {
			continue
		}
		if err := f.j.Tell(slog.LevelInfo, goesOn, slog.String("host", host)); err != nil {
			return err
		}
	}
	f.resting = now
	return nil
}

func (f *follower) estimate(s status.Status, e status.Estimate) error {
	if s.State != "running" || e.Left < time.Second || e.Left <= 2*f.said {
		return nil
	}
	f.said = e.Left
	facts := []slog.Attr{
		slog.Int64("known", e.Known), slog.Float64("left_s", e.Left.Seconds()), slog.String("host", e.Host),
		slog.Float64("pace_s", e.Pace.Seconds()), slog.String("pace_by", e.PaceBy), slog.Bool("open", e.Open),
	}
	if e.Likely > 0 {
		facts = append(facts, slog.Float64("likely_s", e.Likely.Seconds()), slog.Int64("expected", e.Expected))
	}
	return f.j.Tell(slog.LevelInfo, estimate, facts...)
}

// figures are what a status comes to.
func figures(s status.Status) []slog.Attr {
	return []slog.Attr{
		slog.String("state", s.State), slog.Float64("elapsed_s", s.Elapsed),
		slog.Int64("exchanges", s.Exchanges), slog.Int64("pages", s.Pages), slog.Int64("bytes", s.Bytes),
		slog.Int64("fetched", s.Fetched), slog.Int64("redirected", s.Redirected), slog.Int64("gone", s.Gone), slog.Int64("failed", s.Failed),
		slog.Int64("disallowed", s.Disallowed), slog.Int64("dropped", s.Dropped), slog.Int64("held", s.Held),
		slog.Int64("queued", s.Queued), slog.Int64("in_flight", s.InFlight), slog.Int64("deferred", s.Deferred),
		slog.Int64("hosts", s.Hosts), slog.Int64("hosts_parked", s.Parked), slog.Int64("hosts_retired", s.Retired),
		slog.Int64("hosts_refused", s.Refused), slog.Int64("hosts_stopped", s.Stopped),
	}
}
