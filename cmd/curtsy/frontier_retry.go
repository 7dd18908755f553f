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

// retrials is what the flags of frontier retry ask for.
type retrials struct {
	failed, disallowed, gone, dropped bool
	hosts                             bool // open those that are refused
	host                              string
	reason                            string
	json                              bool
}

func newRetry(std cli.Streams) *cobra.Command {
	var r retrials
	cmd := cli.Command("frontier retry", cli.Flags{
		"failed": &r.failed, "disallowed": &r.disallowed, "gone": &r.gone, "dropped": &r.dropped,
		"hosts": &r.hosts, "host": &r.host, "reason": &r.reason, "json": &r.json,
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args[0], std) }
	return cmd
}

// outcomes are those that are asked for: what failed, if nothing is named.
func (r *retrials) outcomes() []frontier.Outcome {
	var os []frontier.Outcome
	for _, f := range []struct {
		asked   bool
		outcome frontier.Outcome
	}{
		{r.disallowed, frontier.Disallowed}, {r.failed, frontier.Failed}, {r.gone, frontier.Gone}, {r.dropped, frontier.Dropped},
	} {
		if f.asked {
			os = append(os, f.outcome)
		}
	}
	if len(os) == 0 && !r.hosts {
		os = append(os, frontier.Failed)
	}
	return os
}

// run has things tried again, and says what.
func (r *retrials) run(ctx context.Context, dir string, std cli.Streams) (err error) {
	var report retryReport
	r.reason = plainly.Name(r.reason)
	running, err := operate(ctx, dir, func(o operated) error {
		report, err = r.apply(ctx, o)
		return err
	})
	if err != nil {
		return err
	}
	if r.json {
		return cli.WriteJSON(std.Out, report.JSON())
	}
	if _, err := fmt.Fprint(std.Out, report); err != nil {
		return err
	}
	if report.any() {
		goOn(std, dir, running)
	}
	return nil
}

// apply has everything tried again that is asked for.
func (r *retrials) apply(ctx context.Context, f operated) (retryReport, error) {
	report := retryReport{urls: map[frontier.Outcome]int64{}}
	authorities := []canon.Authority{{}} // all
	if r.host != "" {
		var err error
		if authorities, err = authoritiesOf(ctx, f, []string{r.host}, false); err != nil {
			return report, err
		}
	}
	var all []frontier.Retrial
	if r.hosts {
		all = append(all, frontier.Retrial{Hosts: true, Robots: true})
	}
	for _, o := range r.outcomes() {
		all = append(all, frontier.Retrial{Outcome: o, Reason: r.reason, Robots: o == frontier.Disallowed})
		report.outcomes = append(report.outcomes, o)
	}
	report.opening = r.hosts
	for _, one := range all {
		for _, one.Authority = range authorities {
			n, err := f.Retry(ctx, one)
			if err != nil {
				return report, err
			}
			report.urls[one.Outcome] += n.URLs
			report.hosts += n.Hosts
		}
	}
	return report, nil
}

// retryReport says what was opened.
type retryReport struct {
	outcomes []frontier.Outcome // asked for
	urls     map[frontier.Outcome]int64
	opening  bool // hosts were asked for
	hosts    int64
}

func (r retryReport) any() bool {
	n := r.hosts
	for _, k := range r.urls {
		n += k
	}
	return n > 0
}

// String is a report for people, a line for each thing asked for.
func (r retryReport) String() string {
	var b strings.Builder
	for _, o := range r.outcomes {
		fmt.Fprintf(&b, "%s to be tried again, of those %s\n", plainly.Count(r.urls[o], "URL"), o)
	}
	if r.opening {
		fmt.Fprintf(&b, "%s opened, of those refused\n", plainly.Count(r.hosts, "host"))
	}
	return b.String()
}

// JSON is a report for programs: numbers of URLs by outcome, and of hosts.
func (r retryReport) JSON() map[string]int64 {
	m := map[string]int64{}
	for _, o := range r.outcomes {
		m[o.String()] = r.urls[o]
	}
	if r.opening {
		m["hosts"] = r.hosts
	}
	return m
}

// release is what the flags of frontier release ask for.
type release struct {
	trap, host string
	json       bool
}

func newRelease(std cli.Streams) *cobra.Command {
	var r release
	cmd := cli.Command("frontier release", cli.Flags{"trap": &r.trap, "host": &r.host, "json": &r.json})
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args[0], std) }
	cli.Words(cmd.Flags(), "trap", "queries", "template", "max-per-tag")
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
