package force_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// armKey says what the script is to set faultKey to, when it has something to lose.
const armKey = "CURTSY_FORCE_ARM"

// script does a handful of commits, one after the other, and tells of the first error.
func script(ctx context.Context, c *child) error {
	if err := c.open(options()); err != nil {
		c.about(event{Kind: refused, Text: err.Error()})
		return nil
	}
	steps := []func(context.Context) error{
		func(ctx context.Context) error { return c.addRange(ctx, 0, 60) },
		func(ctx context.Context) error { return c.turn(ctx, 1) },
		c.arm,
		func(ctx context.Context) error { return c.addRange(ctx, 60, 400) },
		func(ctx context.Context) error { return c.turn(ctx, 2) },
		c.retryAll,
		func(ctx context.Context) error { return c.turn(ctx, 3) },
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			c.refuse(ctx, err)
			return nil
		}
	}
	if err := c.f.Close(); err != nil {
		c.about(event{Kind: refused, Text: err.Error()})
		return nil
	}
	c.about(event{Kind: done})
	return nil
}

// arm begins the part in which faults are injected.
func (c *child) arm(context.Context) error {
	c.about(event{Kind: armed})
	if spec := os.Getenv(armKey); spec != "" {
		return os.Setenv(faultKey, spec)
	}
	return nil
}

func (c *child) addRange(ctx context.Context, from, to int) error {
	var urls []string
	for i := from; i < to; i++ {
		urls = append(urls, fmt.Sprintf("http://h%d.test/%d", i%4, i))
	}
	w := &worker{child: c}
	return w.add(ctx, urls)
}

// turn claims a host and ends the turn with something of all that a turn may end with.
func (c *child) turn(ctx context.Context, round int) error {
	w := &worker{child: c}
	from := now()
	got, err := c.f.Claim(ctx, frontier.Want{Tasks: 8, MaxWait: time.Minute})
	if err != nil {
		return err
	}
	for _, turn := range got.Turns {
		host := turn.Authority.String()
		c.about(event{Kind: claimed, From: from, To: now(), Host: host, Tasks: tasks(turn)})
		e := event{Kind: finishing, Host: host, Exchange: true, Wait: time.Hour, Reason: fmt.Sprint("round ", round), From: now()}
		r := frontier.Result{Authority: turn.Authority, Token: turn.Token, Wait: e.Wait}
		r.Host = &frontier.HostUpdate{
			Condition: frontier.Parked, Reason: e.Reason, Pace: paceOf(host), Robots: make([]byte, 3000), Memory: []byte(host),
		}
		r.Blobs = [][]byte{[]byte(fmt.Sprintf("User-agent: *\nDisallow: /%d\n", round)), make([]byte, 9000+round)}
		for i, x := range turn.Tasks {
			t := task{URL: x.URL.String()}
			switch i % 4 {
			case 0, 1:
				t.Outcome = []frontier.Outcome{frontier.Fetched, frontier.Failed}[i%4]
				r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: t.Outcome})
			case 2:
				t.After = time.Hour
				r.Deferred = append(r.Deferred, frontier.Deferral{Print: x.Print, After: t.After, Reason: "status 500"})
			default:
				continue
			}
			e.Tasks = append(e.Tasks, t)
		}
		for i := range 40 {
			e.Found = append(e.Found, fmt.Sprintf("http://h%d.test/found/%d/%d", i%5, round, i))
		}
		r.Found = candidates(e.Found)
		id := c.tell(e)
		answer, err := c.f.Finish(ctx, []frontier.Result{r})
		if err != nil {
			return err
		}
		if answer[0].Err != nil {
			return answer[0].Err
		}
		c.about(event{Kind: applied, ID: id, To: now()})
		w.open = append(w.open, id)
	}
	return w.sync(ctx)
}

func (c *child) retryAll(ctx context.Context) error {
	for i := range 4 {
		a, err := canon.ParseAuthority(fmt.Sprintf("http://h%d.test", i))
		if err != nil {
			return err
		}
		id := c.tell(event{Kind: retrying, Host: a.String()})
		if _, err := c.f.Retry(ctx, frontier.Retrial{Outcome: frontier.Failed, Authority: a}); err != nil {
			return err
		}
		c.about(event{Kind: acknowledged, IDs: []int{id}})
	}
	return nil
}

// refuse tells of an error, and whether the frontier takes no further call.
func (c *child) refuse(ctx context.Context, first error) {
	c.about(event{Kind: refused, Text: first.Error()})
	var errs []error
	try := func(err error) { errs = append(errs, err) }
	_, err := c.f.Add(ctx, candidates([]string{"http://late.test/"}))
	try(err)
	_, err = c.f.Claim(ctx, frontier.Want{})
	try(err)
	_, err = c.f.Finish(ctx, []frontier.Result{{}})
	try(err)
	_, err = c.f.Retry(ctx, frontier.Retrial{Outcome: frontier.Failed})
	try(err)
	_, err = c.f.Stats(ctx)
	try(err)
	try(c.f.Sync(ctx))
	try(c.f.Close())
	kind := poisoned
	if slices.ContainsFunc(errs, func(err error) bool { return err == nil || !errors.Is(err, first) && err.Error() != first.Error() }) {
		kind = unpoisoned
	}
	c.about(event{Kind: kind, Text: fmt.Sprint(errs)})
}
