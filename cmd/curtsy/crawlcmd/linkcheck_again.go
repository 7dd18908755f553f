package crawlcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/check"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/storage/plainly"
)

// judgeAgain crawls again what a crawl has, and says what became of its links. A check that was interrupted goes on.
func (c *checking) judgeAgain(cmd *cobra.Command, dir string) error {
	return c.task.Again(cmd.Context(), dir, c.std, func(e Ended) error { return c.judgeEnded(cmd, e) })
}

// judgeStored judges a crawl as it is.
func (c *checking) judgeStored(ctx context.Context, dir string) error {
	r, err := c.stored(ctx, dir)
	if err != nil {
		return err
	}
	return c.say(dir, r)
}

// stored judges a crawl that is there and does not run. It is held against the generation before where it has ended.
func (c *checking) stored(ctx context.Context, dir string) (*check.Result, error) {
	if err := crawldir.Require(dir); err != nil {
		return nil, err
	}
	if err := crawldir.RequireWhole(dir); err != nil {
		return nil, err
	}
	if _, err := control.Connect(ctx, dir); err == nil {
		return nil, fmt.Errorf("the crawl in %s is running: its links can be judged when it has ended; see curtsy status %s", dir, plainly.Argument(dir))
	} else if !errors.Is(err, control.ErrNotRunning) {
		return nil, err
	}
	left, err := Left(ctx, dir)
	if err != nil {
		return nil, err
	}
	return judge(ctx, dir, left == 0)
}

// judge judges the latest generation, and where it has ended says what is newly broken, and what is repaired, since the one
// before.
func judge(ctx context.Context, dir string, ended bool) (*check.Result, error) {
	r, err := check.Judge(ctx, "", dir, 0)
	if err != nil || !ended || r.Generation < 2 {
		return r, err
	}
	before, err := check.Judge(ctx, "", dir, r.Generation-1)
	if err == nil {
		r.Compare(before)
	}
	return r, err
}

// only refuses flags that are for something else than what is checked.
func only(cmd *cobra.Command, what string, flags ...string) error {
	i := slices.IndexFunc(flags, func(name string) bool { return cmd.Flags().Changed(name) })
	if i < 0 {
		return nil
	}
	return cli.Usagef("--%s is for %s", flags[i], what)
}
