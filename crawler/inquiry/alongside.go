package inquiry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/crawler/hostlock"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage/hostrule"
)

// alongside makes single exchanges beside the crawls of this user (politeness rule 26), under the lock of the host, and with its delay
// and that of its address.
type alongside struct {
	locks   *hostlock.Locks
	floor   time.Duration  // between two exchanges with a host
	set     hostrule.Rules // settings of single hosts: their hours are for crawls, their delays for all
	every   time.Duration  // between two starts at an address
	foreign bool           // loopback is like any other host
}

// Resting means that a host was not requested because it asked for a back-off.
type Resting struct{ hostlock.Wish }

func (r *Resting) Error() string { return "not requested: " + r.Wish.String() + "; try again then" }

// patience is how long a command waits for such a host.
const patience = 10 * time.Second

// do makes an exchange after any back-off, and leaves the delay that its robots.txt asks of token. Own hosts need no lock.
func (a alongside) do(ctx context.Context, f *fetch.Fetcher, token string, r fetch.Request) (x *fetch.Exchange, err error) {
	au := r.URL.Authority()
	if au.Loopback() && !a.foreign {
		if err := waited(ctx, func() (time.Duration, error) { return a.resting(au) }); err != nil {
			return nil, err
		}
		if x, err = f.Do(ctx, r); err != nil {
			return nil, err
		}
		if err = a.heed(x); err != nil {
			return nil, errors.Join(err, x.Close())
		}
		return x, nil
	}
	among, err := f.Addresses(ctx, au)
	var failure *fetch.Failure
	switch {
	case errors.As(err, &failure):
		return fetch.Unmade(r.URL, failure), nil
	case err != nil:
		return nil, err
	}
	if err := waited(ctx, func() (time.Duration, error) { return a.take(au) }); err != nil {
		return nil, err
	}
	rest := a.least(au)
	defer func() { err = errors.Join(err, a.locks.Release(au, rest)) }()
	var late error
	if len(among) > 0 { // else only a proxy knows the address
		spot := host.Network(among[0].Addr())
		r.Addr = among[0]
		r.Begin = func(ctx context.Context) error {
			return waited(ctx, func() (time.Duration, error) { return a.locks.Start(spot, a.every) })
		}
		r.Begun = func() { late = a.locks.Started(spot, a.every) }
	}
	if x, err = f.Do(ctx, r); err != nil {
		return nil, err
	}
	if err = a.heed(x); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	if fault := (*fetch.Fault)(nil); x.Failure != nil && errors.As(x.Failure, &fault) {
		return nil, errors.Join(fault, x.Close())
	}
	if rest, err = a.rest(x, token); err != nil || late != nil {
		return nil, errors.Join(err, late, x.Close())
	}
	return x, nil
}

// take locks a host, or returns the time until the next try.
func (a alongside) take(au canon.Authority) (wait time.Duration, err error) {
	if wait, err = a.locks.Take(au, a.least(au)); wait > 0 || err != nil {
		return wait, err
	}
	if wait, err = a.resting(au); wait > 0 || err != nil {
		err = errors.Join(err, a.locks.Release(au, 0))
	}
	return wait, err
}

// resting returns the rest of a back-off, or a Resting if it is too long.
func (a alongside) resting(au canon.Authority) (wait time.Duration, err error) {
	wish, err := a.locks.Resting(au)
	if err == nil && wish.Wait > patience {
		err = &Resting{wish}
	}
	return wish.Wait, err
}

// heed shares the back-off that x asks for.
func (a alongside) heed(x *fetch.Exchange) error {
	answer, why := host.Classify(x)
	s := host.Signal{Answer: answer, Why: why, RateLimit: host.ReadRateLimit(x.Header)}
	if x.URL.RequestURI() == "/robots.txt" || host.ObeysRetryAfter(answer, x.Status) {
		s.RetryAfter = host.ReadRetryAfter(x.Header, x.End)
	}
	_, rest := host.After(host.State{}, s, host.Terms{})
	return a.locks.Rest(x.URL.Authority(), x.End, hostlock.Wish{Wait: rest.Asked.Wait, Status: x.Status, Field: rest.Asked.Field})
}

func (a alongside) least(au canon.Authority) time.Duration { return max(a.floor, a.set.Of(au).Delay) }

// waited calls ask until it returns no wait.
func waited(ctx context.Context, ask func() (time.Duration, error)) error {
	for {
		wait, err := ask()
		if err != nil || wait == 0 {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// rest returns the delay after x.
func (a alongside) rest(x *fetch.Exchange, token string) (time.Duration, error) {
	rest := max(a.least(x.URL.Authority()), host.ResponsePace(x.ResponseTime))
	if x.URL.RequestURI() != "/robots.txt" || x.Status != 200 || x.Body == nil {
		return rest, nil
	}
	body, err := io.ReadAll(io.NewSectionReader(x.Body, 0, x.Body.Size()))
	if err != nil {
		return rest, fmt.Errorf("read the body of %s: %w", x.URL, err)
	}
	if d, ok := robots.Parse(body, robots.Options{Token: token}).AskedDelay(); ok {
		rest = max(rest, d)
	}
	return rest, nil
}
