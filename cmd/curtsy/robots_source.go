package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/inquiry"
	"curtsy/frontier/canon"
	"curtsy/robots"
)

// source gives the robots.txt that a URL is judged by under a standard.
type source func(ctx context.Context, u canon.URL, s robots.Standard) (inquiry.Robots, error)

// opinionOn judges u by a robots.txt for a crawler of that product token. What counts are the bytes that would be sent.
func opinionOn(u canon.URL, had inquiry.Robots, token string, s robots.Standard) opinion {
	if had.Body == nil {
		return newOpinion(had.Verdict, s)
	}
	p := robots.Parse(had.Body, robots.Options{Token: token, Standard: s})
	o := newOpinion(p.Match(u.RequestURI()), s)
	o.setDelay(p)
	return o
}

// source says where the robots.txt comes from; done releases it.
func (c *check) source(urls []canon.URL, std cli.Streams) (from source, done func(), err error) {
	if c.file != "" {
		body, err := readFile(c.file, std)
		if err != nil {
			return nil, nil, err
		}
		had := inquiry.Robots{From: c.file, Body: body, Digest: sha256.Sum256(body)}
		return func(context.Context, canon.URL, robots.Standard) (inquiry.Robots, error) { return had, nil }, func() {}, nil
	}
	given := urls
	if c.url != "" {
		at, err := cli.URL(c.url)
		if err != nil {
			return nil, nil, cli.Usagef("--url: %w", err)
		}
		given = []canon.URL{at}
	}
	locks, err := crawldir.HostLocks(func(format string, args ...any) { fmt.Fprintf(std.Err, "curtsy: "+format+"\n", args...) })
	if err != nil {
		return nil, nil, err
	}
	q, err := inquiry.New(&c.settings, given, locks)
	if err != nil {
		return nil, nil, errors.Join(err, locks.Close())
	}
	from = func(ctx context.Context, u canon.URL, s robots.Standard) (inquiry.Robots, error) {
		if c.url != "" {
			return q.Ask(ctx, given[0].Authority(), given[0].String(), s)
		}
		return q.Ask(ctx, u.Authority(), "", s)
	}
	return from, func() { _ = errors.Join(q.Close(), locks.Close()) }, nil // nothing is left to be kept
}
