package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage/plainly"
)

// steer is what the flags of frontier pause, drop and unpause ask for.
type steer struct {
	act    frontier.Act
	hosts  []string
	length crawldir.Duration
	reason string
	json   bool
}

func newPause(std cli.Streams) *cobra.Command {
	s := steer{act: frontier.Park}
	return s.command("frontier pause", cli.Flags{"host": &s.hosts, "for": &s.length, "reason": &s.reason, "json": &s.json}, std)
}

func newDrop(std cli.Streams) *cobra.Command {
	s := steer{act: frontier.Drop}
	cmd := s.command("frontier drop", cli.Flags{"host": &s.hosts, "reason": &s.reason, "json": &s.json}, std)
	cmd.Args = dirFirst(0, -1)
	return cmd
}

func newUnpause(std cli.Streams) *cobra.Command {
	s := steer{act: frontier.Resume}
	return s.command("frontier unpause", cli.Flags{"host": &s.hosts, "json": &s.json}, std)
}

func (s *steer) command(path string, flags cli.Flags, std cli.Streams) *cobra.Command {
	cmd := cli.Command(path, flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), args, std) }
	return cmd
}

// steered is what became of a host.
type steered struct {
	Host    string `json:"host"`
	Changed bool   `json:"changed"`
	URLs    int64  `json:"urls"` // closed
	what    frontier.Steering
}

// mostSteered is how many URLs go in one command: they must fit into what a running crawl takes.
const mostSteered = 500

func (s *steer) run(ctx context.Context, args []string, std cli.Streams) error {
	dir := args[0]
	if s.act != frontier.Drop && len(s.hosts) == 0 {
		return s.whole(ctx, dir, std)
	}
	single, err := s.urls(args[1:])
	if err != nil {
		return err
	}
	var done []steered
	running, err := operate(ctx, dir, func(o operated) error {
		all := single
		authorities, err := authoritiesOf(ctx, o, s.hosts, s.act != frontier.Resume)
		if err != nil {
			return err
		}
		for _, a := range authorities {
			all = append(all, frontier.Steering{Act: s.act, Authority: a, For: time.Duration(s.length), Reason: s.reason})
		}
		for _, one := range all {
			did, err := o.Steer(ctx, one)
			if err != nil {
				return err
			}
			done = append(done, steered{one.Authority.Origin(), did.Changed, did.URLs, one})
		}
		return nil
	})
	for _, d := range done { // also of a command that failed in the middle
		if s.json {
			if err := cli.WriteLine(std.Out, d); err != nil {
				return err
			}
		} else if _, err := fmt.Fprintln(std.Out, plainly.OneLine(d.String())); err != nil {
			return err
		}
	}
	if err == nil && len(single) > 0 && noneDropped(done) {
		return fmt.Errorf("nothing was dropped: no such URL is pending. List pending URLs with curtsy frontier ls --urls --state pending %s; "+
			"a whole host is dropped with curtsy frontier drop --host %s %s", plainly.Argument(dir), done[0].Host, plainly.Argument(dir))
	}
	if err == nil {
		goOn(std, dir, running)
	}
	return err
}

// whole pauses or unpauses a crawl that runs.
func (s *steer) whole(ctx context.Context, dir string, std cli.Streams) error {
	on := s.act == frontier.Park
	if s.length != 0 {
		return cli.Usagef("--for goes with --host: a whole crawl is paused until frontier unpause")
	}
	if err := crawldir.Require(dir); err != nil {
		return err
	}
	remote, err := control.Connect(ctx, dir)
	if errors.Is(err, control.ErrNotRunning) {
		return fmt.Errorf("the crawl in %s is not running; continue it with curtsy resume %s, or give --host HOST", dir, plainly.Argument(dir))
	}
	if err != nil {
		return err
	}
	if err := remote.Pause(control.Noted(ctx, s.reason), on); err != nil {
		return err
	}
	if s.json {
		return cli.WriteLine(std.Out, map[string]bool{"paused": on})
	}
	text := "the crawl continues"
	if on {
		text = "the crawl is paused until frontier unpause"
	}
	_, err = fmt.Fprintln(std.Out, text)
	return err
}

// noneDropped reports whether commands for single URLs met none that is pending.
func noneDropped(done []steered) bool {
	return !slices.ContainsFunc(done, func(d steered) bool { return d.URLs > 0 })
}

// urls are the commands that close single URLs, by host.
func (s *steer) urls(args []string) ([]frontier.Steering, error) {
	switch {
	case len(args) == 0 && len(s.hosts) == 0:
		return nil, cli.Usagef("nothing to drop: give --host HOST, or URLs after the directory")
	case len(args) > 0 && len(s.hosts) > 0:
		return nil, cli.Usagef("give --host or URLs, not both: a host's URLs go with it")
	case len(args) > 0 && s.reason != "":
		return nil, cli.Usagef("--reason goes with --host: a URL that is dropped has the reason %q", frontier.ReasonOperator)
	}
	byHost := map[canon.Authority][]canon.URL{}
	var order []canon.Authority
	for _, raw := range args {
		u, err := cli.URL(raw)
		if err != nil {
			return nil, err
		}
		a := u.Authority()
		if byHost[a] == nil {
			order = append(order, a)
		}
		byHost[a] = append(byHost[a], u)
	}
	var all []frontier.Steering
	for _, a := range order {
		for us := range slices.Chunk(byHost[a], mostSteered) {
			all = append(all, frontier.Steering{Act: frontier.Drop, Authority: a, URLs: us})
		}
	}
	return all, nil
}

// String says it in a sentence.
func (d steered) String() string {
	switch s := d.what; {
	case len(s.URLs) > 0:
		text := fmt.Sprintf("%s: %s of %d dropped", d.Host, plainly.Count(d.URLs, "URL"), len(s.URLs))
		if d.URLs < int64(len(s.URLs)) {
			text += "; the others are not pending, or not known"
		}
		return text
	case s.Act == frontier.Drop:
		return fmt.Sprintf("%s: dropped, with %s; URLs found there later are rejected", d.Host, plainly.Count(d.URLs, "pending URL"))
	case s.Act == frontier.Park && s.For > 0:
		return fmt.Sprintf("%s: paused for %v", d.Host, s.For)
	case s.Act == frontier.Park:
		return d.Host + ": paused until frontier unpause"
	case !d.Changed:
		return d.Host + ": was open already"
	}
	return d.Host + ": open again"
}
