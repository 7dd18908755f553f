package crawldir

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/host"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/storage"
	"curtsy/storage/hostrule"
	"curtsy/storage/ledger"
)

// A round is an update of some pages: a generation of its own that asks for these, and for what they newly link to. All other
// URLs stay closed, as they ended, so that a link to one asks nobody. What the frontier before had pending stays so.

// A Round says what a round asks for.
type Round struct {
	// Due reports whether a closed URL is asked for.
	Due func(frontier.Entry) bool
	// Retired reports whether a host that earlier rounds gave up is to be tried again.
	Retired func(canon.Authority) bool
	// Pages is how many pages are not asked for, in all and of a host: they count for MaxPages and MaxPerHost.
	Pages       int64
	PagesOfHost func(canon.Authority) uint64
}

// sourceName is a copy of the frontier, which the next one is made of. It is removed with what a kill leaves of that.
const sourceName = NextName + ".of"

// BeginRound begins the next generation of the crawl in dir as Update does, but asks for what r says alone.
func BeginRound(ctx context.Context, dir string, s *Settings, r Round) (g budget.Generation, err error) {
	return begin(ctx, dir, s, &r, func() error { return nil })
}

// build builds the next frontier beside the old one, which is open and ours, out of a copy.
func (r Round) build(ctx context.Context, dir string, old Stopped, g budget.Generation) (err error) {
	if err := removeNext(dir); err != nil { // after a kill one may be there
		return err
	}
	stats, err := old.Stats(ctx)
	if err != nil {
		return err
	}
	if err := old.Snapshot(ctx, in(dir, sourceName)); err != nil {
		return err
	}
	source, err := engine.OpenReadOnly(in(dir, sourceName))
	if err != nil {
		return err
	}
	err = importNext(dir, r.items(ctx, source, stats, g))
	return errors.Join(err, source.Close(), os.Remove(in(dir, sourceName)))
}

// items are the parts of the next frontier.
func (r Round) items(ctx context.Context, old frontier.Stored, stats frontier.Stats, g budget.Generation) iter.Seq2[frontier.Item, error] {
	return func(yield func(frontier.Item, error) bool) {
		ended := errors.New("no more is wanted")
		err := old.Export(ctx, func(i frontier.Item) error {
			var err error
			switch {
			case i.Head != nil:
				i.Head.Openings, i.Head.Unclean = stats.Restarts+1, stats.Unclean
			case i.Host != nil:
				*i.Host, err = r.host(*i.Host)
			case i.URL != nil && i.URL.Outcome != 0 && r.Due(*i.URL):
				i.URL.Outcome, i.URL.Reason, i.URL.Attempts, i.URL.Replaced = 0, "", 0, canon.URL{}
				i.URL.Stops, i.URL.Alone = 0, 0
			case i.Totals != nil:
				i.Totals.Counts = g.Counts()
				i.Totals.Counts[budget.Pages] = r.Pages
			}
			if !yield(i, err) {
				return ended
			}
			return err
		})
		if err != nil && !errors.Is(err, ended) {
			yield(frontier.Item{}, err)
		}
	}
}

// host is what is kept of a host in the next round.
func (r Round) host(h frontier.Host) (frontier.Host, error) {
	retired := h.Condition == frontier.Retired && !r.Retired(h.Authority)
	next, err := host.NextRound(h, r.PagesOfHost(h.Authority))
	if retired {
		next.Condition, next.Reason = h.Condition, h.Reason
	}
	return next, err
}

// Daily is the cap of requests to a host in a day, with those that the ledger in dir tells of; nil without one.
func Daily(dir string, s *Settings, now time.Time) (*budget.Daily, error) {
	if s.PerHostPerDay == 0 && !slices.ContainsFunc(s.Hosts, func(r hostrule.Rule) bool { return r.PerHostPerDay > 0 }) {
		return nil, nil
	}
	d := budget.NewDaily(s.perDay)
	err := ledger.Requests(in(dir, LedgerName), now.Add(-25*time.Hour), func(l storage.Line) {
		if u, err := canon.Parse(l.URL); err == nil {
			d.Made(u.Authority(), l.Time, now)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("crawl directory: count the requests of today: %w", err)
	}
	return d, nil
}

// perDay is how many requests to a host there may be in a day; zero for any number.
func (s *Settings) perDay(a canon.Authority) int64 {
	most, set := s.PerHostPerDay, s.Hosts.Of(a).PerHostPerDay
	if most == 0 || set > 0 && set < most {
		return set
	}
	return most
}

// Pending is what a stopped crawl has left to do.
type Pending struct {
	URLs int64
	// Due is after how long the first host with something left may be asked, when Asked says that there is one.
	Due   time.Duration
	Asked bool
}

// Left says what the crawl in dir has left to do.
func Left(ctx context.Context, dir string) (p Pending, hosts []frontier.Host, err error) {
	f, err := engine.OpenReadOnly(in(dir, FrontierName))
	if err != nil {
		return p, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	err = status.EachHost(ctx, f, 0, func(h frontier.Host) bool {
		hosts = append(hosts, h)
		p.URLs += h.Pending()
		if h.Pending() > 0 && h.Condition <= frontier.Parked && h.Hold.Act == 0 && (!p.Asked || h.Wait < p.Due) {
			p.Due, p.Asked = h.Wait, true
		}
		return true
	})
	return p, hosts, err
}
