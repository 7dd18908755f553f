package inquiry

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/fetch"
	"curtsy/crawler/hostlock"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage/optout"
)

// Robots is the result for a robots.txt.
type Robots struct {
	From    string // its URL
	Body    []byte // nil when no body decides
	Digest  [32]byte
	Verdict robots.Verdict // on everything, when no body decides
	Failure string         // why it is unavailable
}

// An Inquiry fetches robots.txt files, each URL once.
type Inquiry struct {
	fetcher *fetch.Fetcher
	asks    alongside
	token   string                     // whose Crawl-delay applies
	lists   *optout.Watch              // of hosts that get no requests
	heard   map[string]robots.Exchange // by URL
}

// New begins an inquiry with the identity and opt-out lists of s. The addresses in given may be private.
func New(s *crawldir.Settings, given []canon.URL, locks *hostlock.Locks) (*Inquiry, error) {
	id := s.Identity()
	if err := id.Validate(); err != nil {
		return nil, &crawldir.Misuse{Err: err}
	}
	var seeds []frontier.Seed
	for _, u := range given {
		if !u.Authority().Loopback() {
			if err := id.CheckContact(); err != nil {
				return nil, &crawldir.Misuse{Err: err}
			}
		}
		seeds = append(seeds, frontier.Seed{URL: u})
	}
	if s.Lists() == nil {
		if err := s.OpenLists("", nil); err != nil {
			return nil, err
		}
	}
	c, err := s.FetchConfig(seeds, "")
	if err != nil {
		return nil, err
	}
	f, err := fetch.New(c)
	if err != nil {
		return nil, &crawldir.Misuse{Err: err}
	}
	return &Inquiry{
		fetcher: f, lists: s.Lists(), heard: map[string]robots.Exchange{}, token: s.Agent,
		asks: alongside{
			locks: locks, floor: max(s.Delay, crawler.Floor), set: s.Hosts, every: s.IPDelay, foreign: s.LoopbackForeign(),
		},
	}, nil
}

func (q *Inquiry) Close() error { return q.fetcher.Close() }

// Ask fetches the robots.txt of an authority, or the URL instead. Redirects and statuses count as in the standard.
func (q *Inquiry) Ask(ctx context.Context, au canon.Authority, instead string, s robots.Standard) (Robots, error) {
	terms, now := robots.Terms{Standard: s}, time.Now()
	origin := au.Origin()
	var state robots.State
	var ex robots.Exchange
	need := terms.Need(state, origin, now)
	had := Robots{From: need.URL}
	if instead != "" {
		had.From = instead
	}
	for need.Action == robots.Fetch {
		url := need.URL
		if need.Hop == 0 {
			url = had.From
		}
		var err error
		if ex, err = q.Exchange(ctx, url); err != nil {
			return had, err
		}
		state, need = terms.Next(state, origin, ex, now)
	}
	if _, ok := state.Body(); ok {
		had.Body, had.Digest = append([]byte{}, ex.Body...), sha256.Sum256(ex.Body)
		return had, nil
	}
	had.Verdict, _ = state.Verdict()
	if had.Failure = state.Failure(); had.Failure == string(fetch.PrivateAddress) {
		had.Failure += " (see --allow-net)"
	}
	return had, nil
}

// Exchange requests a URL as a crawl would.
func (q *Inquiry) Exchange(ctx context.Context, raw string) (robots.Exchange, error) {
	if ex, ok := q.heard[raw]; ok {
		return ex, nil
	}
	u, err := canon.Parse(raw)
	if err != nil {
		return robots.Exchange{URL: raw, Failure: "redirect to no URL"}, nil
	}
	if q.lists.URL(u) != nil {
		return robots.Exchange{URL: raw, Failure: string(fetch.OptOut)}, nil
	}
	got, err := q.asks.do(ctx, q.fetcher, q.token, fetch.Request{
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
	q.heard[raw] = ex
	return ex, nil
}
