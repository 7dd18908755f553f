package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/fetch"
	"curtsy/crawler/hostlock"
	"curtsy/crawler/optout"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
)

// robotsSource gives the robots.txt that a URL is judged by under a standard.
type robotsSource func(ctx context.Context, u canon.URL, s robots.Standard) (hadRobots, error)

// hadRobots is what is known of a robots.txt.
type hadRobots struct {
	from    string // a file's name, or a URL
	body    []byte // nil when no body decides
	digest  [32]byte
	verdict robots.Verdict // on everything, when no body decides
	failure string         // why it is not to be had
}

// judge judges u for a crawler of that product token. What counts are the octets that would be sent.
func (h hadRobots) judge(u canon.URL, token string, s robots.Standard) opinion {
	if h.body == nil {
		return newOpinion(h.verdict, s)
	}
	p := robots.Parse(h.body, robots.Options{Token: token, Standard: s})
	o := newOpinion(p.Match(u.RequestURI()), s)
	o.setDelay(p)
	return o
}

// source says where the robots.txt comes from; done releases it.
func (c *robotsCheck) source(urls []canon.URL, std cli.Streams) (source robotsSource, done func(), err error) {
	done = func() {}
	if c.file != "" {
		body, err := readRobotsFile(c.file, std)
		if err != nil {
			return nil, nil, err
		}
		had := hadRobots{from: c.file, body: body, digest: sha256.Sum256(body)}
		return func(context.Context, canon.URL, robots.Standard) (hadRobots, error) { return had, nil }, done, nil
	}
	given := urls
	if c.url != "" {
		at, err := urlOf(c.url)
		if err != nil {
			return nil, nil, cli.Usagef("--url: %w", err)
		}
		given = []canon.URL{at}
	}
	f, err := c.fetcher(given)
	if err != nil {
		return nil, nil, err
	}
	locks, err := crawldir.HostLocks(func(format string, args ...any) { fmt.Fprintf(std.Err, "curtsy: "+format+"\n", args...) })
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	a := newRobotsAsker(f, locks, &c.settings)
	if c.url != "" {
		source = func(ctx context.Context, _ canon.URL, s robots.Standard) (hadRobots, error) {
			return a.ask(ctx, given[0].Authority(), given[0].String(), s)
		}
	} else {
		source = func(ctx context.Context, u canon.URL, s robots.Standard) (hadRobots, error) {
			return a.ask(ctx, u.Authority(), "", s)
		}
	}
	return source, func() { _ = errors.Join(f.Close(), locks.Close()) }, nil // nothing is left to be kept
}

// fetcher makes exchanges under the user's own identity. Addresses that the user wrote out may be reached, whatever net
// they are in.
func (c *robotsCheck) fetcher(given []canon.URL) (*fetch.Fetcher, error) {
	id := c.Identity()
	if err := id.Validate(); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	var seeds []frontier.Seed
	for _, u := range given {
		if !u.Authority().Loopback() {
			if err := id.CheckContact(); err != nil {
				return nil, cli.Usagef("%w", err)
			}
		}
		seeds = append(seeds, frontier.Seed{URL: u})
	}
	if err := c.OpenLists("", nil); err != nil {
		return nil, err
	}
	fc, err := c.FetchConfig(seeds, "")
	if err != nil {
		return nil, err
	}
	f, err := fetch.New(fc)
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	return f, nil
}

// robotsAsker fetches robots.txt files, each URL once.
type robotsAsker struct {
	fetcher *fetch.Fetcher
	asks    alongside
	token   string                     // whose Crawl-delay is kept
	lists   *optout.Watch              // of those who are asked for nothing
	heard   map[string]robots.Exchange // by URL
}

func newRobotsAsker(f *fetch.Fetcher, locks *hostlock.Locks, s *settings) *robotsAsker {
	return &robotsAsker{
		fetcher: f, lists: s.Lists(), heard: map[string]robots.Exchange{}, token: s.Agent,
		asks: alongside{
			locks: locks, floor: max(s.Delay, crawler.Floor), every: s.IPDelay, foreign: s.LoopbackForeign(),
		},
	}
}

// ask fetches the robots.txt of an authority, or what stands at the URL instead of it. It follows redirects as the
// terms of the standard say, and takes every status for what they say it means.
func (a *robotsAsker) ask(ctx context.Context, au canon.Authority, instead string, s robots.Standard) (hadRobots, error) {
	terms, now := robots.Terms{Standard: s}, time.Now()
	origin := au.Origin()
	var state robots.State
	var ex robots.Exchange
	need := terms.Need(state, origin, now)
	had := hadRobots{from: need.URL}
	if instead != "" {
		had.from = instead
	}
	for need.Action == robots.Fetch {
		url := need.URL
		if need.Hop == 0 {
			url = had.from
		}
		var err error
		if ex, err = a.exchange(ctx, url); err != nil {
			return had, err
		}
		state, need = terms.Next(state, origin, ex, now)
	}
	if _, ok := state.Body(); ok {
		had.body, had.digest = append([]byte{}, ex.Body...), sha256.Sum256(ex.Body)
		return had, nil
	}
	had.verdict, _ = state.Verdict()
	if had.failure = state.Failure(); had.failure == string(fetch.PrivateAddress) {
		had.failure += " (see --allow-net)"
	}
	return had, nil
}

// exchange asks for a URL, as a crawl would.
func (a *robotsAsker) exchange(ctx context.Context, raw string) (robots.Exchange, error) {
	if ex, ok := a.heard[raw]; ok {
		return ex, nil
	}
	u, err := canon.Parse(raw)
	if err != nil {
		return robots.Exchange{URL: raw, Failure: "redirect to no URL"}, nil
	}
	if a.lists.URL(u) != nil {
		return robots.Exchange{URL: raw, Failure: string(fetch.OptOut)}, nil
	}
	got, err := a.asks.do(ctx, a.fetcher, a.token, fetch.Request{
		URL: u, Accept: "text/plain, */*;q=0.5", MaxBody: robots.MaxBody + 1, Partial: true,
		FirstByteTimeout: crawler.RobotsFirstByte, WholeTimeout: crawler.RobotsWhole,
	})
	if err != nil {
		return robots.Exchange{}, fmt.Errorf("%s: %w", raw, err)
	}
	defer got.Close()
	ex := robots.Exchange{URL: raw, Status: got.Status, Header: got.Header, Oversize: got.Truncated == fetch.CutLength}
	if got.Failure != nil {
		ex.Failure = string(got.Failure.Class)
	}
	if got.Body != nil {
		if ex.Body, err = io.ReadAll(got.Body); err != nil {
			return robots.Exchange{}, fmt.Errorf("%s: %w", raw, err)
		}
	}
	a.heard[raw] = ex
	return ex, nil
}
