package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/explain"
	"curtsy/crawler/hostlock"
	"curtsy/crawler/inquiry"
	"curtsy/frontier/canon"
	"curtsy/robots"
)

// askLive asks the host for its robots.txt now, as a crawl would: under the user's identity, behind the guard, one
// exchange after the other, at the pace for hosts of others. Nothing of it is recorded. Who is to be left alone is not
// asked, whoever wants to know.
func (x *explaining) askLive(ctx context.Context, e *explain.Explanation) (err error) {
	if why := leftAlone(e); why != "" {
		e.Notes = append(e.Notes, "not requested: "+why)
		return nil
	}
	locks, err := x.hostLocks(e)
	if err != nil || locks == nil {
		return err
	}
	defer func() { err = errors.Join(err, locks.Close()) }()
	q, err := inquiry.New(&x.settings, []canon.URL{x.url}, locks)
	if err != nil {
		return err
	}
	defer q.Close()
	origin := x.url.Authority().Origin()
	terms := robots.Terms{Standard: x.config.Standard, Strict: true}
	var state robots.State
	var ex robots.Exchange
	need := terms.Need(state, origin, time.Now())
	for need.Action == robots.Fetch {
		ex, err = q.Exchange(ctx, need.URL)
		if resting := (*inquiry.Resting)(nil); errors.As(err, &resting) {
			e.Notes = append(e.Notes, "not requested: "+resting.Wish.String())
			return nil
		}
		if err != nil {
			return err
		}
		state, need = terms.Next(state, origin, ex, time.Now())
	}
	e.TakePolicy(x.config.Gate(), explain.PolicyLive, x.url, state, ex.Body, "", time.Now())
	return nil
}

// hostLocks opens the locks that all crawls of this user share (politeness rule 17). They are nil when another crawl is
// asking the host, or has just done so, which a note then says.
func (x *explaining) hostLocks(e *explain.Explanation) (*hostlock.Locks, error) {
	a := x.url.Authority()
	locks, err := crawldir.HostLocks(func(format string, args ...any) { e.Notes = append(e.Notes, fmt.Sprintf(format, args...)) })
	if err != nil || a.Loopback() {
		return locks, err
	}
	wait, err := locks.Take(a, crawler.Floor)
	switch {
	case err != nil:
	case wait > 0:
		e.Notes = append(e.Notes, "not requested: another of your crawls is using that host; try again later")
	default: // the exchange takes it anew
		if err = locks.Release(a, 0); err == nil {
			return locks, nil
		}
	}
	return nil, errors.Join(err, locks.Close())
}

// leftAlone says why nothing may be asked of a host now, or "".
func leftAlone(e *explain.Explanation) string {
	h := &e.Host
	switch {
	case e.OptOut != nil:
		return "it opted out"
	case h.Hold != "":
		return "the host is " + h.Hold
	case h.Condition == "refused" || h.Condition == "retired":
		return "the host is " + h.Condition + ": " + h.Reason
	case h.Until != nil && h.Until.After(e.Now):
		return fmt.Sprintf("the host is backing off until %s", h.Until.Format(time.RFC3339))
	}
	return ""
}
