package crawlcmd

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/plan"
	"curtsy/frontier"
	"curtsy/frontier/durable"
)

// planning are the flags of a plan that are no settings of its crawl.
type planning struct {
	maps              int64
	expect            plan.Expect
	ethics, retention string
}

func planningDefaults() planning {
	return planning{maps: plan.DefaultMaps, expect: plan.Expect{Size: plan.DefaultSize}}
}

// NewPlan says what a crawl would do.
func NewPlan(std cli.Streams) *cobra.Command { return NewPlanIn(World{}, std) }

// NewPlanIn is NewPlan in a world of its own.
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

// plan makes the plan and prints it.
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
		Say: func(n crawldir.Note) { display.Say("%s", cli.Note(n, o.dir)) }, Resolve: w.Resolve, Dial: w.Dial, OpenFrontier: w.Open,
		Attend: func(ctx context.Context, start crawldir.Start) (summary crawler.Summary, err error) {
			if err := announce(s, o, start, display); err != nil {
				return summary, err
			}
			summary, sig, err = attend(ctx, start.Crawl, display, nil, nil)
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

// about is what a sheet says that settings do not.
func (p *planning) about() (about text.About, err error) {
	if p.ethics == "" {
		return about, nil
	}
	if about.Retention, about.Page, err = Kept(); err != nil {
		return about, err
	}
	if p.retention != "" {
		about.Retention = p.retention
	}
	about.Key = crawldir.VerifierKey()
	return about, nil
}
