package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// vsCheckers excludes the other values: it measures link checkers, not crawlers.
const vsCheckers = "checkers"

// besideCheckers is the report of them.
type besideCheckers struct{ *Comparison }

// Verdict implements Report.
func (b besideCheckers) Verdict() error {
	if err := b.Comparison.Verdict(); err != nil {
		return &Found{err}
	}
	return nil
}

// checkers holds curtsy linkcheck beside them.
func (c Config) checkers(ctx context.Context, say Say) (_ Report, err error) {
	switch {
	case len(c.VS) > 1:
		return nil, usagef("--vs checkers excludes other values of --vs")
	case c.Profile != "" || c.SVG != "":
		return nil, usagef("--vs checkers draws no picture and writes no profile: leave --svg and --profile out")
	}
	for _, flag := range []string{"setup", "pages", "hosts", "workers", "pace", "latency", "discovered", "max-body", "large", "memory-limit"} {
		if c.Given(flag) {
			return nil, usagef("--%s: --vs checkers has its own sites: omit the flag, or name a folder with --docs", flag)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	user, err := os.MkdirTemp(c.Dir, "curtsy-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(user)) }()
	r, err := CheckersRun(ctx, CheckersConfig{
		Self: self, Env: cleanEnv(os.Environ(), c.Unset, filepath.Join(user, "user")), Dir: user,
		Docs: c.Docs, Rounds: c.Rounds, Limit: c.PeerLimit,
	}, say)
	if err != nil {
		return nil, err
	}
	return besideCheckers{r}, nil
}
