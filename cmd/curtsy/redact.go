package main

import (
	"context"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// options are the flags.
type options struct {
	all, dryRun, json, quiet bool
	reason                   string
	packed                   []string
}

// redactCommand is curtsy redact.
func redactCommand(std cli.Streams) *cobra.Command {
	var o options
	cmd := cli.Command("redact", cli.Flags{
		"all": &o.all, "reason": &o.reason, "wacz": &o.packed, "dry-run": &o.dryRun, "json": &o.json, "quiet": &o.quiet,
	})
	cmd.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < 2:
			return cli.Usagef("redact takes a crawl directory, and a URL, a host, or HOST/PATH")
		case len(args) > 2:
			return cli.Usagef("redact takes one URL, host or HOST/PATH at a time")
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := parseSubject(args[1])
		if err != nil {
			return err
		}
		if err := o.check(); err != nil {
			return err
		}
		if err := crawldir.Require(args[0]); err != nil {
			return err
		}
		return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error { return forget(ctx, args[0], s, o, std) })
	}
	return cmd
}

func (o *options) check() error {
	if strings.ContainsFunc(o.reason, unicode.IsControl) || len(o.reason) > 1000 {
		return cli.Usagef("--reason: must be one line of at most 1000 bytes")
	}
	return nil
}
