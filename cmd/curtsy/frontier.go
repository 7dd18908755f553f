package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/storage/plainly"
)

// frontierCommand is the group of commands about what a crawl has to do, and what it has done.
func frontierCommand(std cli.Streams) *cobra.Command {
	cmd := cli.Family("frontier", newFrontierList(std), newAdd(std), newPause(std), newUnpause(std), newDrop(std), newRetry(std), newRelease(std),
		newExport(std), newImport(std), newRepair(std))
	cmd.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := cli.Swallowed(cmd, args); err != nil { // cobra runs only the nearest hook
			return err
		}
		if len(args) == 0 || engine.Locator(args[0]) == "" {
			return nil
		}
		name := cmd.CommandPath()
		if urls, err := cmd.Flags().GetBool("urls"); err == nil && urls {
			name += " --urls"
		}
		return crawldir.RefusedInFleet(name)
	}
	return cmd
}

// dirFirst is for commands that take a crawl directory and, behind it, up to most other arguments.
func dirFirst(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args) - 1; n >= least && (most < 0 || n <= most) {
			return nil
		}
		if len(args) == 0 {
			return fmt.Errorf("%s takes a crawl directory first: write %s", cmd.Name(), cmd.UseLine())
		}
		return fmt.Errorf("%s does not take %s: write %s", cmd.Name(), plainly.Count(int64(len(args)), "argument"), cmd.UseLine())
	}
}

// operated is a crawl that an operator changes: a running one through its control interface, a stopped one by its
// frontier. Either way there is one writer.
type operated interface {
	Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error)
	Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error)
	Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error)
	Change(ctx context.Context, c control.Change) (control.Changed, error)
	finder
}

// finder knows the hosts of a crawl.
type finder interface {
	Find(ctx context.Context, host string) ([]canon.Authority, error)
}

// known finds hosts in a frontier.
type known struct{ frontier.Reader }

func (k known) Find(ctx context.Context, host string) ([]canon.Authority, error) {
	return control.Find(ctx, k.Reader, host)
}

var _ operated = (*control.Remote)(nil)

// operate has do change the crawl in dir, and reports whether it is running.
func operate(ctx context.Context, dir string, do func(operated) error) (running bool, err error) {
	if err := crawldir.Require(dir); err != nil {
		return false, err
	}
	remote, asked := control.Connect(ctx, dir)
	if asked == nil {
		err := do(remote)
		if errors.Is(err, control.ErrNotRunning) {
			err = fmt.Errorf("the crawl ended before it answered (%w); run the command again", err)
		}
		return true, cli.Ordered(err)
	}
	s, err := config.Of(dir)
	if err != nil {
		return false, err
	}
	stopped, err := crawldir.OpenStopped(ctx, dir, s)
	if err != nil {
		return false, cli.InUse(err, dir)
	}
	err = do(stopped)
	return false, cli.Ordered(errors.Join(err, stopped.Close()))
}

// authoritiesOf returns the authorities that people mean by the names of hosts. One that the crawl does not know is
// taken if unknown says so and the name means one authority only.
func authoritiesOf(ctx context.Context, o finder, names []string, unknown bool) ([]canon.Authority, error) {
	var all []canon.Authority
	for _, name := range names {
		a, exact, err := control.ParseHost(name)
		if err != nil {
			return nil, cli.Usagef("--host %s: %w", name, err)
		}
		found, err := o.Find(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case len(found) > 0:
			all = append(all, found...)
		case unknown && exact:
			all = append(all, a)
		case unknown:
			return nil, cli.Usagef("--host %s: the crawl has no URL of that host; to have it so from its first URL on, write --host https://%s", name, a.HostPort())
		default:
			return nil, cli.Usagef("--host %s: the crawl has no URL of that host", name)
		}
	}
	return all, nil
}

// goOn says how a stopped crawl that was changed goes on.
func goOn(std cli.Streams, dir string, running bool) {
	if !running {
		fmt.Fprintf(std.Err, "continue with curtsy resume %s\n", plainly.Lines(plainly.Argument(dir)))
	}
}
