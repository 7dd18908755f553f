package crawlcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/plan"
	"curtsy/frontier"
	"curtsy/frontier/durable"
	"curtsy/storage/plainly"
)

// planning are the flags of a plan that are not settings of its crawl.
type planning struct {
	maps              int64
	expect            plan.Expect
	ethics, retention string
}

func planningDefaults() planning {
	return planning{maps: plan.DefaultMaps, expect: plan.Expect{Size: plan.DefaultSize}}
}

func NewPlan(std cli.Streams) *cobra.Command { return NewPlanIn(World{}, std) }

func NewPlanIn(w World, std cli.Streams) *cobra.Command {
	var s crawldir.Settings
	o := options{planning: planningDefaults(), dryRun: true}
	p := &o.planning
	cmd := cli.Command("plan", cli.Flags{
		"seeds": &o.seeds, "max-sitemaps": crawldir.AtLeast(&p.maps, 0), "expect-pages": crawldir.AtLeast(&p.expect.Pages, 0),
		"expect-files": crawldir.AtLeast(&p.expect.Files, 0), "expect-size": (*crawldir.Size)(&p.expect.Size), "ethics": &p.ethics,
		"retention": &p.retention,
	})
	fs := cmd.Flags()
	cli.Often(fs, "seeds", "max-sitemaps", "expect-pages", "ethics")
	config.Flags(&s, fs)
	o.flags(fs)
	fs.Lookup("json").Usage = "print the plan as JSON on standard output"
	cmd.RunE = o.logged(std, func(cmd *cobra.Command, args []string, std cli.Streams) error {
		return crawl(cmd.Context(), fs, &s, &o, w, args, std)
	})
	return cmd
}

func (p *planning) plan(ctx context.Context, s *crawldir.Settings, o *options, w World, seeds []frontier.Candidate, std cli.Streams) error {
	made := userfile.Kind{Name: "an ethics sheet", Mark: text.Mark}
	if err := cli.MayWrite("--ethics", p.ethics, made); err != nil {
		return err
	}
	about, err := p.about()
	if err != nil {
		return err
	}
	display := progress.New(std.Err, o.quiet, true)
	var sig os.Signal
	co := crawldir.Options{
		Say: func(n crawldir.Note) { display.Say("%s", cli.Note(n, o.dir)) }, Resolve: w.Resolve, Dial: w.Dial,
		Attend: func(ctx context.Context, start crawldir.Start) (summary crawler.Summary, err error) {
			if err := announce(s, o, start, display); err != nil {
				return summary, err
			}
			summary, sig, err = attend(ctx, start.Crawl, display, nil)
			return summary, err
		},
		Line: o.lines(display.Line),
	}
	plan, err := plan.Make(ctx, s, seeds, plan.Options{Maps: int(p.maps), Expect: p.expect, Crawl: co})
	display.Finish()
	switch {
	case sig != nil && err == nil:
		return cli.Interrupted(sig)
	case err != nil:
		return err
	}
	if p.ethics != "" {
		sheet := text.Sheet(plan, s, about)
		if err := durable.Output(p.ethics, func(w io.Writer) error { _, err := io.WriteString(w, sheet); return err }); err != nil {
			return err
		}
		display.Say("wrote %s", p.ethics)
	}
	if o.json {
		return cli.WriteJSON(std.Out, plan)
	}
	_, err = fmt.Fprint(std.Out, text.Text(plan))
	return err
}

// about returns the facts of an ethics sheet that are not settings.
func (p *planning) about() (about text.About, err error) {
	if p.ethics == "" {
		return about, nil
	}
	k, err := readKept()
	if err != nil {
		return about, err
	}
	return text.About{Retention: cmp.Or(p.retention, k.Retention), Page: k.URL, Key: crawldir.VerifierKey()}, nil
}

// leave prints how to inspect and remove the crawl of a demo without --dir. With --quiet it removes the crawl, if all went
// well.
func leave(o *options, well bool, std cli.Streams) error {
	if o.quiet && well {
		return os.RemoveAll(o.dir)
	}
	dir := plainly.Lines(plainly.Argument(o.dir))
	_, err := fmt.Fprintf(std.Err, "\nThe crawl is in %[1]s. Inspect it, then remove it:\n"+
		"  curtsy audit %[1]s\n  curtsy report %[1]s\n  rm -r %[1]s\n", dir)
	return err
}

func NewDemo(std cli.Streams) *cobra.Command {
	var o options
	cmd := cli.Command("demo")
	cmd.RunE = o.logged(std, func(cmd *cobra.Command, _ []string, std cli.Streams) error { return demo(cmd.Context(), &o, std) })
	cmd.Flags().StringVar(&o.dir, "dir", "", "`DIR` directory for the crawl (default: a temporary one, which --quiet removes)")
	o.pageFlag(cmd.Flags())
	o.logFlag(cmd.Flags())
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "print the verdict only")
	cli.Group(cmd.Flags(), "Output")
	return cmd
}

func demo(ctx context.Context, o *options, std cli.Streams) (err error) {
	if err := o.page.Listen(ctx); err != nil {
		return err
	}
	defer o.page.End()
	web := crawltest.Demo(1)
	if err := web.Start(); err != nil {
		return fmt.Errorf("the demo's web: %w", err)
	}
	defer web.Close()
	s := crawldir.Defaults()
	// Long enough for a Retry-After of seconds, too short for the host whose robots.txt is unavailable.
	s.OwnSite, s.MaxWait = []string{crawldir.OwnNone}, 5*time.Second
	s.AllowNet = []string{web.Net().String()}
	seeds, err := crawldir.SeedURLs(web.Seeds()...)
	if err != nil {
		return err
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "curtsy-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, leave(o, err == nil, std)) }()
	}
	if err := crawldir.CreateUnchecked(ctx, o.dir, &s, seeds); err != nil {
		return err
	}
	if !o.quiet {
		fmt.Fprintf(std.Err, "Crawling %d hosts of a small web on loopback, at most one request per second to each.\n", len(web.Hosts()))
	}
	err = runCrawl(ctx, &s, o, World{Resolve: web.Resolve, Dial: web.Dial}, std)
	var e *cli.Error
	if err != nil && !(errors.As(err, &e) && e.Code == cli.ExitIncomplete) {
		return err // the demo has a host that is out of order: it always ends incomplete
	}
	verdict := web.Referee().Judge(crawltest.Rules{Token: s.Agent, Pace: crawler.Floor})
	fmt.Fprintln(std.Out, "\nResult, as the servers measured it:")
	if err := verdict.WriteTable(std.Out); err != nil {
		return err
	}
	if !verdict.OK() {
		return cli.Silent(cli.ExitFound)
	}
	return nil
}
