package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/budget"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// release is what the flags of frontier release ask for.
type release struct {
	trap, host string
	json       bool
}

func newRelease(std cli.Streams) *cobra.Command {
	var r release
	cmd := cli.Command("frontier release")
	cmd.Args = cli.OneDir
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args[0], std) }
	fs := cmd.Flags()
	fs.StringVar(&r.trap, "trap", "", "`RULE` only URLs that this rule holds: queries, template or max-per-tag")
	cli.Words(fs, "trap", "queries", "template", "max-per-tag")
	fs.StringVar(&r.host, "host", "", "`HOST` only this host: name or address, optionally with a port, or https://name")
	cli.Group(fs, "What to release")
	cli.JSONFlag(cmd, &r.json, "print one JSON object")
	return cmd
}

// reason is that of the URLs to release; empty for all.
func (r *release) reason() (string, error) {
	switch rule := storage.RuleOfTraps + strings.TrimPrefix(r.trap, storage.RuleOfTraps); {
	case r.trap == "":
		return "", nil
	case rule == trap.RuleQueries || rule == trap.RuleTemplate:
		return rule, nil
	case r.trap == budget.MaxPerTag:
		return budget.HeldByTag, nil
	}
	return "", cli.Usagef("--trap %s: no such rule holds URLs; queries, template and max-per-tag do", r.trap)
}

// run releases, and says how many.
func (r *release) run(ctx context.Context, dir string, std cli.Streams) error {
	reason, err := r.reason()
	if err != nil {
		return err
	}
	released := int64(0)
	running, err := operate(ctx, dir, func(o operated) error {
		authorities := []canon.Authority{{}} // all
		if r.host != "" {
			if authorities, err = authoritiesOf(ctx, o, []string{r.host}, false); err != nil {
				return err
			}
		}
		for _, a := range authorities {
			n, err := o.Retry(ctx, frontier.Retrial{Outcome: frontier.Held, Reason: reason, Authority: a})
			if err != nil {
				return err
			}
			released += n.URLs
		}
		return nil
	})
	if err != nil {
		return err
	}
	if r.json {
		return cli.WriteJSON(std.Out, map[string]int64{"released": released})
	}
	if _, err := fmt.Fprintf(std.Out, "%s released\n", plainly.Count(released, "URL")); err != nil {
		return err
	}
	if released > 0 {
		goOn(std, dir, running)
	}
	return nil
}
