package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/inquiry"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage/plainly"
)

// check is one invocation of robots check.
type check struct {
	settings      crawldir.Settings // who asks, when a robots.txt has to be fetched
	own           *pflag.FlagSet    // the flags of settings
	token         string            // who is judged; empty means settings.agent
	file, url     string            // where the robots.txt comes from; empty means each URL's host
	standard      robots.Standard
	everyStandard bool
	config        string
	json, batch   bool
}

func newCheck(std cli.Streams) *cobra.Command {
	var c check
	cmd := cli.Command("robots check", cli.Flags{
		"file": &c.file, "url": &c.url, "agent": &c.token, "robots-standard": crawldir.Standard(&c.standard), "all-standards": &c.everyStandard,
		"json": &c.json, "batch": &c.batch,
	})
	cmd.Args = cobra.ArbitraryArgs
	fs := cmd.Flags()
	fs.SortFlags = false
	cli.Words(fs, "robots-standard", config.Standards()...)
	cli.Often(fs, "file", "url", "agent")
	c.own = config.Some(&c.settings, fs, config.Asking...)
	cli.Often(fs, "contact")
	fs.StringVar(&c.config, "config", "", "`FILE` settings file (TOML)")
	cli.Group(fs, "Asking the host")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args, std) }
	return cmd
}

func (c *check) run(ctx context.Context, args []string, std cli.Streams) error {
	if err := config.Resolve(&c.settings, c.own, c.config, ""); err != nil {
		return err
	}
	if c.token == "" {
		c.token = c.settings.Agent
	}
	if err := robots.ValidToken(c.token); err != nil {
		return cli.Usagef("--agent: %w", err)
	}
	standards := []robots.Standard{c.standard}
	if c.everyStandard {
		standards = robots.Standards()
	}
	switch {
	case c.file != "" && c.url != "":
		return cli.Usagef("--file and --url: use only one of them")
	case c.batch && (len(args) > 0 || c.file != "" || c.url != "" || c.everyStandard):
		return cli.Usagef("--batch takes everything from standard input: no URL, --file, --url or --all-standards beside it")
	case c.batch:
		return batch(std.In, std.Out, question{Agent: c.token, Standard: c.standard.String()})
	case len(args) == 0:
		return cli.Usagef("no URL to judge; see curtsy robots check --help")
	}
	urls := make([]canon.URL, len(args))
	for i, a := range args {
		u, err := cli.URL(a)
		if fi, statErr := os.Stat(a); err != nil && statErr == nil && fi.Mode().IsRegular() {
			return cli.Usagef("%[1]s is a file: to check URLs against it, give --file %[1]s URL…", plainly.Argument(a))
		}
		if err != nil {
			return err
		}
		urls[i] = u
	}
	from, done, err := c.source(urls, std)
	if err != nil {
		return err
	}
	defer done()
	return c.judge(ctx, from, urls, standards, std)
}

// judge prints what is known of each URL, and says by the exit code what came out.
func (c *check) judge(ctx context.Context, from source, urls []canon.URL, standards []robots.Standard, std cli.Streams) error {
	var all []judgement
	code := cli.ExitDone
	said := map[string]bool{}
	say := func(line string) {
		if !said[line] {
			said[line] = true
			fmt.Fprintln(std.Err, plainly.Lines(line))
		}
	}
	for _, u := range urls {
		j := judgement{URL: u.String(), Agent: c.token}
		for _, s := range standards {
			had, err := from(ctx, u, s)
			if err != nil {
				return err
			}
			j.Robots = had.From
			if had.Body != nil {
				j.SHA256 = hex.EncodeToString(had.Digest[:])
			}
			o := opinionOn(u, had, c.token, s)
			j.Verdicts = append(j.Verdicts, o)
			if most := max(c.settings.MaxCrawlDelay, crawler.Floor); o.DelayS != nil && *o.DelayS > most.Seconds() {
				say(fmt.Sprintf("curtsy: %s requires a delay longer than --max-crawl-delay %v: a crawl skips this host", had.From, plainly.Duration(most)))
			}
			switch {
			case o.Reason == string(robots.Unreachable):
				code = cli.ExitFailed
				say(fmt.Sprintf("curtsy: %s is unavailable: %s; nothing may be fetched", had.From, plainly.Reason(had.Failure)))
			case !o.Allow && code == cli.ExitDone:
				code = cli.ExitFound
			}
		}
		if c.json {
			if err := jsonLines(std.Out).Encode(j); err != nil {
				return err
			}
			continue
		}
		all = append(all, j)
	}
	if err := c.print(all, std); err != nil || code == cli.ExitDone {
		return err
	}
	return cli.Silent(code)
}

// judgement is what is said of one URL, by each standard that was asked for.
type judgement struct {
	URL      string    `json:"url"`
	Agent    string    `json:"agent"`
	Robots   string    `json:"robots_txt"`       // where it came from
	SHA256   string    `json:"sha256,omitempty"` // of the file; none when no file decides
	Verdicts []opinion `json:"verdicts"`
}

// opinion is what one standard says. Its fields are named as in the answers of --batch.
type opinion struct {
	Standard string   `json:"standard"`
	Allow    bool     `json:"allow"`
	Reason   string   `json:"reason"`
	Line     int      `json:"line"` // 0 when no rule decides
	Rule     string   `json:"rule"`
	Group    string   `json:"group"`
	RunnerUp string   `json:"runner_up"`
	DelayS   *float64 `json:"delay_s"` // null when no pause is asked for
}

func newOpinion(v robots.Verdict, s robots.Standard) opinion {
	return opinion{
		Standard: s.String(), Allow: v.Allowed, Reason: string(v.Reason),
		Line: v.Line, Rule: v.Rule, Group: v.Group, RunnerUp: v.RunnerUp,
	}
}

// setDelay keeps the pause that p asks for.
func (o *opinion) setDelay(p *robots.Policy) {
	if d, ok := p.AskedDelay(); ok {
		seconds := d.Seconds()
		o.DelayS = &seconds
	}
}

func (o opinion) verdict() string {
	if o.Allow {
		return "allowed"
	}
	return "disallowed"
}

func (o opinion) line() string {
	if o.Line == 0 {
		return "-"
	}
	return strconv.Itoa(o.Line)
}

func (o opinion) delay() string {
	if o.DelayS == nil {
		return "-"
	}
	return time.Duration(*o.DelayS * float64(time.Second)).String()
}

// print writes judgements for people: a line each, or side by side when there are several standards.
func (c *check) print(all []judgement, std cli.Streams) error {
	if len(all) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	if !c.everyStandard {
		fmt.Fprintln(table, "VERDICT\tLINE\tRULE\tRUNNER-UP\tDELAY\tURL")
		for _, j := range all {
			o := j.Verdicts[0]
			rule := text.Cell(o.Rule)
			if o.Line == 0 {
				rule = "(" + o.Reason + ")"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", o.verdict(), o.line(), rule, text.Cell(o.RunnerUp), o.delay(), j.URL)
		}
		return table.Flush()
	}
	for i, j := range all {
		if i > 0 {
			fmt.Fprintln(table)
		}
		fmt.Fprintln(table, j.URL)
		row := func(name string, of func(opinion) string) {
			cells := []string{"  " + name}
			for _, o := range j.Verdicts {
				cells = append(cells, of(o))
			}
			fmt.Fprintln(table, strings.Join(cells, "\t"))
		}
		row("standard", func(o opinion) string { return o.Standard })
		row("verdict", opinion.verdict)
		row("reason", func(o opinion) string { return o.Reason })
		row("line", opinion.line)
		row("rule", func(o opinion) string { return text.Cell(o.Rule) })
		row("runner-up", func(o opinion) string { return text.Cell(o.RunnerUp) })
		row("group", func(o opinion) string { return text.Cell(o.Group) })
		row("delay", opinion.delay)
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// source gives the robots.txt that a URL is judged by under a standard.
type source func(ctx context.Context, u canon.URL, s robots.Standard) (inquiry.Robots, error)

// opinionOn judges u by a robots.txt for a crawler of that product token. What counts are the bytes that would be sent.
func opinionOn(u canon.URL, had inquiry.Robots, token string, s robots.Standard) opinion {
	if had.Body == nil {
		return newOpinion(had.Verdict, s)
	}
	p := robots.Parse(had.Body, robots.Options{Token: token, Standard: s})
	o := newOpinion(p.Match(u.RequestURI()), s)
	o.setDelay(p)
	return o
}

// source says where the robots.txt comes from; done releases it.
func (c *check) source(urls []canon.URL, std cli.Streams) (from source, done func(), err error) {
	if c.file != "" {
		body, err := readFile(c.file, std)
		if err != nil {
			return nil, nil, err
		}
		had := inquiry.Robots{From: c.file, Body: body, Digest: sha256.Sum256(body)}
		return func(context.Context, canon.URL, robots.Standard) (inquiry.Robots, error) { return had, nil }, func() {}, nil
	}
	given := urls
	if c.url != "" {
		at, err := cli.URL(c.url)
		if err != nil {
			return nil, nil, cli.Usagef("--url: %w", err)
		}
		given = []canon.URL{at}
	}
	locks, err := crawldir.HostLocks(func(format string, args ...any) { fmt.Fprintf(std.Err, "curtsy: "+format+"\n", args...) })
	if err != nil {
		return nil, nil, err
	}
	q, err := inquiry.New(&c.settings, given, locks)
	if err != nil {
		return nil, nil, errors.Join(err, locks.Close())
	}
	from = func(ctx context.Context, u canon.URL, s robots.Standard) (inquiry.Robots, error) {
		if c.url != "" {
			return q.Ask(ctx, given[0].Authority(), given[0].String(), s)
		}
		return q.Ask(ctx, u.Authority(), "", s)
	}
	return from, func() { _ = errors.Join(q.Close(), locks.Close()) }, nil // nothing is left to be kept
}
