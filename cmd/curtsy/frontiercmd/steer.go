package frontiercmd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir/value"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage/plainly"
)

// steer is what frontier park, drop and resume are asked for.
type steer struct {
	act    frontier.Act
	hosts  []string
	length value.Duration
	reason string
	json   bool
}

func (s *steer) hostFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&s.hosts, "host", nil, "this `HOST`: a name or address, a port if need be, or https://name; repeatable")
}

func newPark(std cli.Streams) *cobra.Command {
	s := steer{act: frontier.Park}
	cmd := &cobra.Command{
		Use:   "park [flags] DIR",
		Short: "Leave a host alone for a time",
		Long: "Leave a host alone, for a time or until frontier resume. Its URLs stay pending,\n" +
			"and it takes new ones. An exchange under way is not cut short.",
		Example: "  curtsy frontier park --host www.your-domain.org --for 2h news",
		Args:    cli.OneDir,
		RunE:    func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), args, std) },
	}
	s.hostFlag(cmd)
	cmd.Flags().Var(&s.length, "for", "for this `TIME`; without it until frontier resume")
	cmd.Flags().StringVar(&s.reason, "reason", "", "why, a `TEXT` for people")
	cli.Group(cmd.Flags(), "Which, and how long")
	cli.JSONFlag(cmd, &s.json, "print one JSON object a host")
	return cmd
}

func newDrop(std cli.Streams) *cobra.Command {
	s := steer{act: frontier.Drop}
	cmd := &cobra.Command{
		Use:   "drop [flags] DIR [URL…]",
		Short: "Take hosts or URLs out of the crawl",
		Long: "Take hosts out of the crawl, or single URLs. What is pending is closed as\n" +
			"dropped. Of a host, what is found later is refused, too, until frontier resume;\n" +
			"what was dropped comes back with frontier retry --dropped --reason operator.",
		Example: "  curtsy frontier drop --host www.your-domain.org --reason \"asked by mail\" news\n" +
			"  curtsy frontier drop news https://www.your-domain.org/private/",
		Args: dirFirst(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), args, std) },
	}
	s.hostFlag(cmd)
	cmd.Flags().StringVar(&s.reason, "reason", "", "with --host: why, a `TEXT` for people")
	cli.Group(cmd.Flags(), "Which")
	cli.JSONFlag(cmd, &s.json, "print one JSON object a host")
	return cmd
}

func newResume(std cli.Streams) *cobra.Command {
	s := steer{act: frontier.Resume}
	cmd := &cobra.Command{
		Use:   "resume [flags] DIR",
		Short: "Open a host again that was parked, dropped or refused",
		Long: "End what frontier park or drop commanded, and open a host that is retired or\n" +
			"refused. The pause that it is owed is kept. To go on with a stopped crawl is\n" +
			"another command: curtsy resume DIR.",
		Example: "  curtsy frontier resume --host www.your-domain.org news",
		Args:    cli.OneDir,
		RunE:    func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), args, std) },
	}
	s.hostFlag(cmd)
	cli.Group(cmd.Flags(), "Which")
	cli.JSONFlag(cmd, &s.json, "print one JSON object a host")
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
		return fmt.Errorf("nothing was dropped: no such URL is pending. See what is with curtsy frontier ls --urls --state pending %s; "+
			"a whole host is dropped with curtsy frontier drop --host %s %s", plainly.Argument(dir), done[0].Host, plainly.Argument(dir))
	}
	if err == nil {
		goOn(std, dir, running)
	}
	return err
}

// noneDropped reports whether commands for single URLs met none that is pending.
func noneDropped(done []steered) bool {
	return !slices.ContainsFunc(done, func(d steered) bool { return d.URLs > 0 })
}

// urls are the commands that close single URLs, by host.
func (s *steer) urls(args []string) ([]frontier.Steering, error) {
	switch {
	case len(args) == 0 && len(s.hosts) == 0 && s.act == frontier.Drop:
		return nil, cli.Usagef("nothing to drop: give --host HOST, or URLs behind the directory")
	case len(args) == 0 && len(s.hosts) == 0:
		return nil, cli.Usagef("which host? Give --host HOST")
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
		return fmt.Sprintf("%s: dropped, with %s; what is found there later is refused", d.Host, plainly.Count(d.URLs, "pending URL"))
	case s.Act == frontier.Park && s.For > 0:
		return fmt.Sprintf("%s: parked for %v", d.Host, s.For)
	case s.Act == frontier.Park:
		return d.Host + ": parked until frontier resume"
	case !d.Changed:
		return d.Host + ": was open already"
	}
	return d.Host + ": open again"
}
