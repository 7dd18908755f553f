// Package crawlcmd implements the commands that crawl: their flags, signals and messages. Package crawldir does the work.
package crawlcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/budget"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

func New(std cli.Streams) *cobra.Command { return NewIn(World{}, std) }

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
			err = ctx.Err() // the signal came after the last interruptible step
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

// prepare makes the crawl directory. For a dry run it makes none, and returns the seeds.
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

// prefixHint describes the scope of the first seed that looks like a folder without its slash: http://a.test/docs makes
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

// defaultDir is the first seed's host and the date.
func defaultDir(seeds []frontier.Candidate, now time.Time) string {
	host := strings.Map(func(r rune) rune {
		if r == ':' || r == '[' || r == ']' {
			return '-'
		}
		return r
	}, seeds[0].URL.Authority().HostPort())
	return strings.Trim(host, "-") + "-" + now.UTC().Format("2006-01-02")
}

// rest returns the given first seeds and all others.
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

// fleetFlags are the flags of a crawl that several processes share.
func fleetFlags(s *crawldir.Settings, fs *pflag.FlagSet) {
	fs.StringVar(&s.Fleet.Locator, "frontier", "", "`URL` frontier to share with other members:\npostgres://user@host/database?crawl=NAME")
	fs.BoolVar(&s.Fleet.OneMachine, "one-machine", false, "all members run on one machine: allow loopback and private seeds")
	cli.Group(fs, "Fleet")
}

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

// inherits is in the help of commands that continue a crawl: their flags show the defaults of a new one.
const inherits = "Without a flag, the crawl's own setting applies (curtsy config show DIR), not\n" +
	"the default shown here. A flag replaces the setting permanently."

func NewResume(std cli.Streams) *cobra.Command { return newAgain("resume", resume, std) }

// newAgain is a command that continues the crawl in a directory.
func newAgain(
	name string, run func(context.Context, *pflag.FlagSet, *crawldir.Settings, *options, cli.Streams) error, std cli.Streams,
) *cobra.Command {
	var s crawldir.Settings
	var o options
	cmd := cli.Command(name)
	cmd.Long += "\n\n" + inherits
	config.Flags(&s, cmd.Flags())
	o.flags(cmd.Flags())
	cmd.RunE = o.logged(std, func(cmd *cobra.Command, args []string, std cli.Streams) error {
		o.dir = args[0]
		return run(cmd.Context(), cmd.Flags(), &s, &o, std)
	})
	return cmd
}

// prepareResume reads the settings of a crawl that resume, update or watch continues.
func prepareResume(command string, flags *pflag.FlagSet, s *crawldir.Settings, o *options, std cli.Streams) error {
	if err := o.check(); err != nil {
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

// begin reads the settings of a stopped crawl with prepareResume, and listens for its dashboard. instead is the advice for a
// running crawl.
func begin(ctx context.Context, command, instead string, flags *pflag.FlagSet, s *crawldir.Settings, o *options, std cli.Streams) error {
	if err := prepareResume(command, flags, s, o, std); err != nil {
		return err
	}
	if err := crawldir.Opens(s, time.Now()); err != nil {
		return err
	}
	if _, err := control.Connect(ctx, o.dir); err == nil {
		return fmt.Errorf("the crawl in %s is running%s; see curtsy status %s", o.dir, instead, plainly.Argument(o.dir))
	}
	return o.page.Listen(ctx)
}

// prepareMember reads the settings of a member of a fleet: all members have the same.
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
	if err := begin(ctx, "resume", "", flags, s, o, std); err != nil {
		return err
	}
	defer o.page.End()
	o.again = true
	return runCrawl(ctx, s, o, World{}, std)
}

// options are the flags of a crawl command that are not settings of the crawl.
type options struct {
	dir, seeds, config   string
	json, quiet, verbose bool

	made       bool  // this command made the directory
	again      bool  // an earlier command made it
	generation int64 // that an update began; 0 for none
	dryRun     bool

	planning planning // of a dry run
	mirrored *Built   // nil for no mirror
	page     beside

	log     string            // format of standard error
	journal *journal          // nil for text
	then    func(Ended) error // replaces the summary; nil for none
}

// Ended describes the end of a crawl that another command ran.
type Ended struct {
	Dir    string
	Result crawldir.Result
	Signal os.Signal // nil for none
}

func (o *options) flags(fs *pflag.FlagSet) {
	o.configFlag(fs)
	fs.BoolVar(&o.json, "json", false, "print the summary as JSON on standard output")
	o.runFlags(fs)
	cli.Often(fs, "config")
}

// runFlags are the flags of every command that runs a crawl.
func (o *options) runFlags(fs *pflag.FlagSet) {
	o.pageFlag(fs)
	o.logFlag(fs)
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "print errors only")
	fs.BoolVarP(&o.verbose, "verbose", "v", false, "report every decision")
	cli.Group(fs, "Output and settings")
}

func (o *options) configFlag(fs *pflag.FlagSet) {
	fs.StringVar(&o.config, "config", "", "`FILE` also read settings from this file (TOML)")
}

func (o *options) pageFlag(fs *pflag.FlagSet) {
	fs.StringVar(&o.page.Address, "dashboard", "", "`ADDRESS:PORT` serve a dashboard of the crawl, as in 127.0.0.1:0; its\naddress is printed")
	fs.StringVar(&o.page.Token, "dashboard-token", "", "`FILE` dashboard token, in a file that only you can read: stays the\nsame, so Prometheus can scrape /metrics, and is not printed")
}

// placeFlags are the flags of a new crawl.
func (o *options) placeFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.dir, "dir", "", "`DIR` new or empty directory for the crawl (default\n./<host>-<UTC date>)")
	o.seedFlag(fs)
	fs.BoolVar(&o.dryRun, "dry-run", false, "list hosts, robots.txt and duration as curtsy plan does, without crawling")
	cli.Often(fs, "dir", "seeds", "dry-run")
	cli.Group(fs, "Seeds and directory")
}

func (o *options) seedFlag(fs *pflag.FlagSet) {
	fs.StringVar(&o.seeds, "seeds", "", "`FILE` seed file, - for standard input: on each line a URL and, after a tab, an optional tag")
}

func (o *options) check() error {
	if o.quiet && o.verbose {
		return cli.Usagef("--quiet and --verbose contradict each other")
	}
	if o.dryRun && o.page.Address != "" {
		return cli.Usagef("--dashboard shows a crawl, and --dry-run makes none")
	}
	return nil
}

func NewUpdate(std cli.Streams) *cobra.Command {
	cmd := newAgain("update", update, std)
	cli.Often(cmd.Flags(), "vanished")
	return cmd
}

func update(ctx context.Context, flags *pflag.FlagSet, s *crawldir.Settings, o *options, std cli.Streams) error {
	if err := begin(ctx, "update", ": it can be updated when it has ended", flags, s, o, std); err != nil {
		return err
	}
	defer o.page.End()
	was, err := config.Of(o.dir)
	if err != nil {
		return err
	}
	var g budget.Generation
	err = cli.UntilSignal(ctx, func(ctx context.Context) (err error) {
		g, err = crawldir.Update(ctx, o.dir, was, s)
		return err
	})
	if err != nil {
		return cli.InUse(err, o.dir)
	}
	o.generation, o.again = g.Number, true
	return runCrawl(ctx, s, o, World{}, std)
}

// changesText is the table of an update.
func changesText(c *crawldir.Changes) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nURLs since the previous generation\n")
	for _, r := range []struct{ word, name string }{
		{string(storage.ChangeNew), "new"}, {string(storage.ChangeChanged), "changed"}, {string(storage.ChangeUnchanged), "unchanged (304 or same content)"},
		{string(storage.ChangeFresh), "fresh, no request"}, {string(storage.ChangeGone), "gone (404, 410)"}, {crawldir.Unknown, "not known now"}, {crawldir.OptedOut, "opted out"},
		{crawldir.Unlinked, "no longer linked"},
	} {
		n, known := c.Counts[r.word]
		switch {
		case r.word == crawldir.OptedOut && n == 0:
		case known:
			fmt.Fprintf(&b, "  %-32s %d\n", r.name, n)
		default:
			fmt.Fprintf(&b, "  %-32s not known before the update is finished\n", r.name)
		}
	}
	fmt.Fprintf(&b, "changes  %s\n", plainly.OneLine(filepath.Clean(c.File)))
	return b.String()
}
