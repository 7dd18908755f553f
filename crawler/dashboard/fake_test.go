package dashboard

import (
	"context"
	"errors"
	"time"

	"curtsy/crawler/control"
	"curtsy/crawler/explain"
	"curtsy/crawler/status"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

// fakeCrawl is a crawl in memory that records acts.
type fakeCrawl struct {
	name  string
	look  Look
	rows  []status.Row
	one   status.One
	said  explain.Explanation
	lines []storage.Line
	gaps  []Gap
	acts  []Act
	fails error

	settings Settings
	did      []ledger.Mark
	tried    []control.Change
	would    control.Changed
}

func (c *fakeCrawl) Name() string { return c.name }

func (c *fakeCrawl) Look(context.Context) (Look, error) { return c.look, c.fails }

func (c *fakeCrawl) Hosts(_ context.Context, q status.Query) (status.Page, error) {
	return status.Page{Rows: c.rows, Matching: len(c.rows), Looked: len(c.rows), Hosts: int64(len(c.rows))}, c.fails
}

func (c *fakeCrawl) Host(context.Context, canon.Authority) (status.One, error) { return c.one, c.fails }

func (c *fakeCrawl) Explain(context.Context, canon.URL) (explain.Explanation, error) {
	return c.said, c.fails
}

func (c *fakeCrawl) Decisions(int) (lines []storage.Line, passed int64, err error) {
	lines, c.lines = c.lines, nil
	return lines, 0, c.fails
}

func (c *fakeCrawl) Gaps(context.Context, canon.Authority, int) ([]Gap, error) {
	return c.gaps, c.fails
}

func (c *fakeCrawl) Settings(context.Context) (Settings, error) { return c.settings, c.fails }

func (c *fakeCrawl) Acts() []ledger.Mark { return c.did }

func (c *fakeCrawl) Try(_ context.Context, o control.Change) (control.Changed, error) {
	c.tried = append(c.tried, o)
	return c.would, c.fails
}

func (c *fakeCrawl) Do(_ context.Context, a Act) (string, error) {
	if c.fails != nil {
		return "", errors.Join(ErrReadOnly, c.fails)
	}
	c.acts = append(c.acts, a)
	return "done", nil
}

var testTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
