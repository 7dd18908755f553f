package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/storage/plainly"
)

// additions are the flags of frontier add.
type additions struct {
	seeds         string
	json, verbose bool
}

func newAdd(std cli.Streams) *cobra.Command {
	var o additions
	cmd := cli.Command("frontier add")
	cmd.Args = dirFirst(0, -1)
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error { return add(ctx, args[0], args[1:], &o, std) })
	cmd.Flags().StringVar(&o.seeds, "seeds", "", "`FILE` seed file, - for standard input: on each line a URL and, after a tab, an optional tag")
	cli.Group(cmd.Flags(), "Seeds")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "report every invalid line")
	cli.JSONFlag(cmd, &o.json, "print one JSON object")
	return cmd
}

func add(ctx context.Context, dir string, args []string, o *additions, std cli.Streams) (err error) {
	if err := crawldir.Require(dir); err != nil {
		return err
	}
	s, err := config.Of(dir)
	if err != nil {
		return err
	}
	std.In = cli.StdinUntil(ctx, std.In)
	seeds, err := config.OpenSeeds(args, o.seeds, o.verbose, std)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seeds.Close()) }()
	var sum frontier.Added
	running, err := operate(ctx, dir, func(to operated) error {
		for {
			batch, err := seeds.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				err = s.Check(batch)
			}
			if err != nil {
				return err
			}
			added, err := to.Add(ctx, batch)
			if err != nil {
				return err
			}
			sum.New += added.New
			sum.Known += added.Known
			sum.Capped += added.Capped
		}
	})
	if err == nil {
		err = seeds.Report(dir)
	}
	if err != nil {
		return err
	}
	if o.json {
		return cli.WriteJSON(std.Out, map[string]int64{
			"new": int64(sum.New), "known": int64(sum.Known), "duplicates": seeds.Twice(), "bad_lines": seeds.Bad,
		})
	}
	if _, err := fmt.Fprintf(std.Out, "%s added, %d known before; the scope now includes them\n", plainly.Count(int64(sum.New), "seed"), sum.Known); err != nil {
		return err
	}
	goOn(std, dir, running)
	return nil
}
