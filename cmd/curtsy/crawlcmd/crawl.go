package crawlcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/storage/plainly"
)

func New(std cli.Streams) *cobra.Command { return NewIn(World{}, std) }

// NewIn is New in a world of its own.
func NewIn(w World, std cli.Streams) *cobra.Command {
	var s crawldir.Settings
	o := options{planning: planningDefaults()}
	cmd := cli.Command("crawl")
	cmd.Long += "\n\n" + config.Scopes
	fs := cmd.Flags()
	o.placeFlags(fs)
	config.Flags(&s, fs)
	fleetFlags(&s, fs)
	o.flags(fs)
	cmd.RunE = o.logged(std, func(cmd *cobra.Command, args []string, std cli.Streams) error {
		return crawl(cmd.Context(), fs, &s, &o, w, args, std)
	})
	return cmd
}

func crawl(ctx context.Context, flags *pflag.FlagSet, s *crawldir.Settings, o *options, w World, args []string, std cli.Streams) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := config.Resolve(s, flags, o.config, ""); err != nil {
		return err
	}
	config.WarnEnv(std.Err, crawldir.Names())
	if err := crawldir.Opens(s, time.Now()); err != nil {
		return err
	}
	if err := o.page.Listen(ctx); err != nil {
		return err
	}
	defer o.page.End()
	var seeds []frontier.Candidate
	err := cli.UntilSignal(ctx, func(ctx context.Context) (err error) {
		if seeds, err = prepare(ctx, flags, s, o, args, std); err == nil {
			err = ctx.Err() // a signal that came too late to stop anything before
		}
		return err
	})
	if errors.Is(err, crawldir.ErrTaken) {
		if left, unread := Left(ctx, o.dir); unread == nil && left == 0 {
			return cli.Usagef("%s already contains a finished crawl: crawl it again with curtsy update %s, or name another directory with --dir", o.dir, plainly.Argument(o.dir))
		}
	}
	if err != nil {
		return err
	}
	if o.dryRun {
		return o.planning.plan(ctx, s, o, w, seeds, std)
	}
	o.made = s.Fleet.Locator == "" // other members may have joined by now
	return runCrawl(ctx, s, o, w, std)
}

// prepare makes the crawl directory, with settings and seeds. For a dry run it makes none, and returns the seeds.
func prepare(ctx context.Context, flags *pflag.FlagSet, s *crawldir.Settings, o *options, args []string, std cli.Streams) (seeds []frontier.Candidate, err error) {
	std.In = cli.StdinUntil(ctx, std.In)
	from, err := config.OpenSeeds(args, o.seeds, o.verbose, std)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	first, err := from.Next()
	if err != nil {
		return nil, err
	}
	ownRequisites(s, flags, first)
	if o.dryRun && s.Fleet.Locator != "" {
		return nil, crawldir.RefusedInFleet("--dry-run")
	}
	if o.dryRun {
		return rest(ctx, first, from, s)
	}
	if o.dir == "" {
		o.dir = defaultDir(first, time.Now())
	}
	hint := prefixHint(s, first)
	err = crawldir.Create(ctx, o.dir, s, func() (batch []frontier.Candidate, err error) {
		if batch, first = first, nil; batch != nil {
			return batch, nil
		}
		return from.Next()
	})
	if err == nil {
		err = from.Report(o.dir)
	}
	if err == nil && hint != "" && !o.quiet {
		fmt.Fprintln(std.Err, plainly.OneLine(hint))
	}
	return nil, err
}

// prefixHint names the scope of the first seed that looks like a folder without its slash: http://a.test/docs makes
// --scope prefix crawl everything below http://a.test/.
func prefixHint(s *crawldir.Settings, seeds []frontier.Candidate) string {
	for _, c := range seeds {
		url := c.URL.String()
		path, _, _ := strings.Cut(url, "?")
		end := strings.LastIndexByte(path, '/') + 1
		if s.Scope == string(scope.ModePrefix) && end < len(url) && !strings.ContainsAny(url[end:], ".?") {
			return fmt.Sprintf("crawling everything below %s; to crawl only %s, add a slash: %s/", url[:end], url[end:], url)
		}
	}
	return ""
}

// defaultDir is where a crawl goes that names no directory: the first seed's host and the date.
func defaultDir(seeds []frontier.Candidate, now time.Time) string {
	host := strings.Map(func(r rune) rune {
		if r == ':' || r == '[' || r == ']' {
			return '-'
		}
		return r
	}, seeds[0].URL.Authority().HostPort())
	return strings.Trim(host, "-") + "-" + now.UTC().Format("2006-01-02")
}

// rest returns all seeds of which the first are known.
func rest(ctx context.Context, seeds []frontier.Candidate, from *config.Seeds, s *crawldir.Settings) ([]frontier.Candidate, error) {
	err := s.Check(seeds)
	for err == nil {
		var batch []frontier.Candidate
		if err = ctx.Err(); err == nil {
			batch, err = from.Next()
		}
		if err == nil {
			err = s.Check(batch)
		}
		seeds = append(seeds, batch...)
	}
	if errors.Is(err, io.EOF) {
		return seeds, from.Report("")
	}
	return nil, err
}

// fleetFlags are those of a crawl that several processes share.
func fleetFlags(s *crawldir.Settings, fs *pflag.FlagSet) {
	fs.StringVar(&s.Fleet.Locator, "frontier", "", "`URL` frontier to share with other members:\npostgres://user@host/database?crawl=NAME")
	fs.BoolVar(&s.Fleet.OneMachine, "one-machine", false, "all members run on one machine: allow loopback and private seeds")
	cli.Group(fs, "Fleet")
}

// NewJoin adds a member to a crawl.
func NewJoin(std cli.Streams) *cobra.Command {
	var s crawldir.Settings
	var o options
	cmd := cli.Command("join")
	fs := cmd.Flags()
	fleetFlags(&s, fs)
	fs.StringVar(&o.dir, "dir", "", "`DIR` new or empty directory for this member")
	cli.Group(fs, "Directory")
	fs.BoolVar(&o.json, "json", false, "print the summary as JSON on standard output")
	o.runFlags(fs)
	cmd.RunE = o.logged(std, func(cmd *cobra.Command, _ []string, std cli.Streams) error {
		return join(cmd.Context(), &s, &o, std)
	})
	return cmd
}

func join(ctx context.Context, s *crawldir.Settings, o *options, std cli.Streams) error {
	switch {
	case s.Fleet.Locator == "":
		return cli.Usagef("name the crawl with --frontier")
	case o.dir == "":
		return cli.Usagef("name a directory for this member with --dir")
	}
	if err := o.check(); err != nil {
		return err
	}
	if err := cli.UntilSignal(ctx, func(ctx context.Context) error { return crawldir.Join(ctx, o.dir, s.Fleet) }); err != nil {
		return err
	}
	return resume(ctx, nil, s, o, std)
}

// inherits is in the help of commands that go on with a crawl, whose flags show the defaults of a new one.
const inherits = "Without a flag, the crawl's own setting applies (curtsy config show DIR), not\n" +
	"the default shown here. A flag replaces the setting permanently."

// NewResume goes on with a crawl.
func NewResume(std cli.Streams) *cobra.Command {
	var s crawldir.Settings
	var o options
	cmd := cli.Command("resume")
	cmd.Long += "\n\n" + inherits
	config.Flags(&s, cmd.Flags())
	o.flags(cmd.Flags())
	cmd.RunE = o.logged(std, func(cmd *cobra.Command, args []string, std cli.Streams) error {
		o.dir = args[0]
		return resume(cmd.Context(), cmd.Flags(), &s, &o, std)
	})
	return cmd
}

// prepareResume reads the settings of a crawl that is to go on, by resume, update or watch.
func prepareResume(command string, flags *pflag.FlagSet, s *crawldir.Settings, o *options, std cli.Streams) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := crawldir.Require(o.dir); err != nil {
		return err
	}
	if err := crawldir.RequireWhole(o.dir); err != nil {
		return err
	}
	if err := crawldir.RequireReachable(o.dir); err != nil {
		return cli.Usagef("%w", err)
	}
	switch shared := engine.Locator(o.dir) != ""; {
	case shared && command != "resume":
		return crawldir.RefusedInFleet("curtsy " + command)
	case shared:
		return prepareMember(flags, s, o)
	}
	if err := config.Resolve(s, flags, o.config, filepath.Join(o.dir, crawldir.ConfigName)); err != nil {
		return err
	}
	config.WarnEnv(std.Err, crawldir.Names())
	err, id := s.Check(nil), s.Identity()
	if contact := id.CheckContact(); err != nil && contact != nil && strings.Contains(err.Error(), contact.Error()) {
		return fmt.Errorf("%w; this crawl keeps its own settings: add --contact ADDRESS to the command", err)
	}
	return err
}

// prepareMember reads the settings of a member, which are those of all.
func prepareMember(flags *pflag.FlagSet, s *crawldir.Settings, o *options) (err error) {
	for _, name := range append(crawldir.Names(), "config") {
		if flags != nil && flags.Changed(name) {
			return cli.Usagef("--%s: all members of a fleet have the settings that the crawl was created with", name)
		}
	}
	if *s, err = crawldir.ReadSettings(o.dir); err != nil {
		return err
	}
	return s.Check(nil)
}

func resume(ctx context.Context, flags *pflag.FlagSet, s *crawldir.Settings, o *options, std cli.Streams) error {
	if err := prepareResume("resume", flags, s, o, std); err != nil {
		return err
	}
	if err := crawldir.Opens(s, time.Now()); err != nil {
		return err
	}
	if _, err := control.Connect(ctx, o.dir); err == nil {
		return fmt.Errorf("the crawl in %s is running; see curtsy status %s", o.dir, plainly.Argument(o.dir))
	}
	if err := o.page.Listen(ctx); err != nil {
		return err
	}
	defer o.page.End()
	o.again = true
	return runCrawl(ctx, s, o, World{}, std)
}
