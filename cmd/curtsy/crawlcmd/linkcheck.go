package crawlcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler"
	"curtsy/crawler/check"
	"curtsy/crawler/check/static"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier"
	"curtsy/frontier/durable"
	"curtsy/storage/htmlpage"
	"curtsy/storage/plainly"
)

type checking struct {
	options // of the crawl; its json is not that of the result
	json    bool
	outputs outputs
	s       crawldir.Settings // of the crawl
	flags   *pflag.FlagSet
	site    static.Options
	std     cli.Streams

	update, offline bool

	thrown bool                // the crawl is not kept
	within func(*check.Result) // turns the URLs of a result into files; nil for a site
}

// patience is the default --max-wait of a check: more than the first back-off after an error. A user who waits for the
// result prefers to see which URLs remain.
const patience = 90 * time.Second

func NewLinkCheck(std cli.Streams) *cobra.Command {
	var c checking
	cmd := cli.Command("linkcheck")
	cmd.Long += "\n\n" + config.Scopes
	cmd.Args = cobra.ArbitraryArgs
	fs := cmd.Flags()
	c.flags = fs
	fs.StringVar(&c.dir, "dir", "", "`DIR` directory of the crawl; one with a crawl of the URL is\ncrawled again (default ./<host>-<UTC date>)")
	c.seedFlag(fs)
	cli.Often(fs, "dir", "seeds")
	cli.Group(fs, "Seeds and directory")
	config.Flags(&c.s, fs)
	c.configFlag(fs)
	c.runFlags(fs)
	cli.Often(fs, "config")
	c.s.LinkCheck, c.s.MaxWait = true, patience
	fs.Lookup("max-wait").DefValue = fs.Lookup("max-wait").Value.String()
	cli.Often(fs, "external", "max-wait")
	fs.BoolVar(&c.offline, "offline", false, "check an existing crawl without any request")
	fs.BoolVar(&c.update, "update", false, "crawl an existing crawl again (the default); refuses anything else")
	cli.Often(fs, "offline")
	cli.Group(fs, "An earlier check")
	fs.BoolVar(&c.site.Clean, "clean-urls", false, "resolve /about to about.html")
	fs.StringVar(&c.site.Base, "base", "/", "`PATH` path of the folder on the site, as in /docs/")
	cli.Often(fs, "clean-urls", "base")
	cli.Group(fs, "A folder of files")
	o := &c.outputs
	fs.StringVar(&o.ignore, "ignore", "", "`FILE` do not report listed URLs, which are requested all the same: on each\nline a regular expression, a space, and the reason")
	fs.StringVar(&o.baseline, "baseline", "", "`FILE` earlier --json output: only links that are not broken\nthere are listed and cause exit code 3")
	fs.StringVar(&o.html, "html", "", "`FILE` also write an HTML page")
	fs.StringVar(&o.junit, "junit", "", "`FILE` also write JUnit XML, for CI")
	fs.BoolVar(&o.github, "github", false, "also write annotations for GitHub Actions (default if\nGITHUB_ACTIONS is true)")
	cli.Often(fs, "ignore", "baseline", "html", "junit", "github")
	cli.Group(fs, "Findings")
	fs.BoolVar(&c.json, "json", false, "print one JSON object")
	cli.Often(fs, "json")
	cli.Group(fs, "Output and settings")
	cmd.RunE = c.logged(std, func(cmd *cobra.Command, args []string, std cli.Streams) error {
		c.std = std
		return c.run(cmd, args)
	})
	return cmd
}

func (c *checking) run(cmd *cobra.Command, args []string) error {
	if err := c.outputs.check(cmd.Flags()); err != nil {
		return err
	}
	if c.update && c.offline {
		return cli.Usagef("--offline makes no requests, and --update crawls again: use only one of them")
	}
	if dir, ok := linkcheckDirectory(args); ok {
		return c.runDirectory(cmd, dir)
	}
	for _, arg := range args {
		if err := neither(arg); err != nil {
			return err
		}
	}
	if err := only(cmd, "the directory of a crawl: give that, or leave the flag out", "update", "offline"); err != nil {
		return err
	}
	dir, err := c.existing(cmd.Context(), args)
	switch {
	case err != nil:
		return err
	case dir != "":
		return c.judgeAgain(cmd, dir)
	}
	ended := false
	c.then = func(e Ended) error {
		ended = true
		return c.judgeEnded(cmd, e)
	}
	err = crawl(cmd.Context(), c.flags, &c.s, &c.options, World{}, args, c.std)
	if _, code := cli.Ended(err); c.json && !ended && code == cli.ExitIncomplete { // no host was reached
		err = errors.Join(cli.WriteJSON(c.std.Out, check.Nothing()), err)
	}
	return err
}

// runDirectory checks an existing crawl, or a folder of files.
func (c *checking) runDirectory(cmd *cobra.Command, dir string) error {
	defer cli.Bound()()
	if err := only(cmd, "the crawl of a site, and "+plainly.Argument(dir)+" is a directory: give either", "seeds"); err != nil {
		return err
	}
	if !isCrawl(dir) && !c.update && !c.offline {
		return c.judgeFolder(cmd, dir)
	}
	if err := only(cmd, "the crawl of a site, and "+plainly.Argument(dir)+" is a crawl, which is checked where it is", "dir"); err != nil {
		return err
	}
	if c.offline {
		return cli.Interruptible(func(ctx context.Context, _ []string) error { return c.judgeStored(ctx, dir) })(cmd, nil)
	}
	return c.judgeAgain(cmd, dir)
}

// linkcheckDirectory returns the only argument if it is a directory, and not a URL.
func linkcheckDirectory(args []string) (dir string, ok bool) {
	if len(args) != 1 {
		return "", false
	}
	if _, err := crawldir.Seed(args[0], ""); err == nil {
		return "", false
	}
	fi, err := os.Stat(args[0])
	return args[0], err == nil && fi.IsDir()
}

// neither refuses an argument that is neither a URL nor a folder. It leaves errors in URLs to the crawl.
func neither(arg string) error {
	if strings.Contains(arg, "://") {
		return nil
	}
	if fi, err := os.Stat(arg); err == nil && fi.IsDir() {
		return cli.Usagef("%s is a folder: check it by itself", plainly.Argument(arg))
	} else if err == nil {
		return cli.Usagef("%s is a file: give the folder that it is in, or for a list of seeds --seeds", plainly.Argument(arg))
	}
	if _, err := crawldir.Seed(arg, ""); err != nil {
		return cli.Usagef("%s is neither an existing folder nor a URL, which begins with https:// or http://", plainly.Argument(arg))
	}
	return nil
}

func (c *checking) judgeEnded(cmd *cobra.Command, e Ended) error {
	return cli.Interruptible(func(ctx context.Context, _ []string) error {
		r, err := judge(ctx, e.Dir, !e.Result.Incomplete && e.Signal == nil)
		if err != nil {
			return err
		}
		r.Partial = e.Signal != nil
		if c.within != nil {
			c.within(r)
		}
		dir := e.Dir
		if c.thrown {
			dir = ""
		}
		err = c.report(dir, r)
		if r.Partial {
			next := "run the command again"
			switch {
			case c.within == nil:
				next = fmt.Sprintf("curtsy linkcheck %[1]s continues, and curtsy linkcheck --offline %[1]s prints the result so far", plainly.Lines(plainly.Argument(dir)))
			case !c.thrown:
				next = fmt.Sprintf("run the command again with another --dir; curtsy linkcheck --offline %s prints the result so far", plainly.Lines(plainly.Argument(dir)))
			}
			fmt.Fprintf(c.std.Err, "interrupted: %s\n", next)
			if err == nil {
				err = cli.Interrupted(e.Signal)
			}
			return err
		}
		if !c.quiet && c.journal == nil {
			fmt.Fprintf(c.std.Err, "kept in %s\n", plainly.Lines(e.Dir))
		}
		// In a folder each page is a seed, also one that robots.txt forbids: the result lacks only pages not waited for.
		if err == nil && e.Result.Incomplete && (c.within == nil || e.Result.EndedBy == crawler.EndedWaiting) {
			if !c.thrown {
				sayIncomplete(c.std.Err, e.Result.Summary, e.Dir)
			}
			return cli.Silent(cli.ExitIncomplete)
		}
		return err
	})(cmd, nil)
}

func (c *checking) report(dir string, r *check.Result) error {
	r.Ignore(c.outputs.ignores)
	for _, l := range r.Unused {
		if r.Partial {
			break
		}
		fmt.Fprintf(c.std.Err, "%s:%d: nothing reported matches %s: the line may be unnecessary\n", plainly.OneLine(c.outputs.ignore), l.Line, plainly.OneLine(l.Pattern))
	}
	if c.outputs.baseline != "" {
		r.Against(c.outputs.known)
	}
	err := c.outputs.write(r)
	if err != nil {
		return err
	}
	if c.outputs.github {
		to := c.std.Out
		if c.json {
			to = c.std.Err
		}
		if _, err := io.WriteString(to, text.Annotations(r, c.within != nil)); err != nil {
			return err
		}
	}
	if c.json {
		err = cli.WriteJSON(c.std.Out, struct {
			Dir string `json:"dir,omitempty"`
			*check.Result
		}{dir, r})
	} else {
		_, err = io.WriteString(c.std.Out, text.Links(r))
	}
	if err != nil || r.Partial {
		return err
	}
	over := r.OverBudget()
	for _, flag := range slices.Sorted(maps.Keys(over)) {
		n := over[flag]
		fmt.Fprintf(c.std.Err, "curtsy: %s not tested because of --%s\n", map[bool]string{true: "1 URL was", false: fmt.Sprintf("%d URLs were", n)}[n == 1], flag)
	}
	if r.Checked == 0 {
		fmt.Fprintln(c.std.Err, "curtsy: no URL was tested")
	}
	switch {
	case len(r.Broken) > 0:
		return cli.Silent(cli.ExitFound)
	case len(over) > 0, r.Checked == 0:
		return cli.Silent(cli.ExitIncomplete)
	}
	return nil
}

// judgeAgain crawls a crawl's URLs again and judges its links. It resumes a check that was interrupted.
func (c *checking) judgeAgain(cmd *cobra.Command, dir string) error {
	c.dir, c.then = dir, func(e Ended) error { return c.judgeEnded(cmd, e) }
	err := update(cmd.Context(), c.flags, &c.s, &c.options, c.std)
	if errors.Is(err, crawldir.ErrNotEnded) {
		return resume(cmd.Context(), c.flags, &c.s, &c.options, c.std)
	}
	return err
}

// judgeStored judges a stopped crawl without any request.
func (c *checking) judgeStored(ctx context.Context, dir string) error {
	if err := crawldir.RequireWhole(dir); err != nil {
		return err
	}
	if _, err := control.Connect(ctx, dir); err == nil {
		return fmt.Errorf("the crawl in %s is running: its links can be judged when it has ended; see curtsy status %s", dir, plainly.Argument(dir))
	} else if !errors.Is(err, control.ErrNotRunning) {
		return err
	}
	left, err := Left(ctx, dir)
	if err != nil {
		return err
	}
	r, err := judge(ctx, dir, left == 0)
	if err != nil {
		return err
	}
	return c.report(dir, r)
}

// judge judges the latest generation. If it has ended, judge compares it with the one before.
func judge(ctx context.Context, dir string, ended bool) (*check.Result, error) {
	r, err := check.Judge(ctx, "", dir, 0)
	if err != nil || !ended || r.Generation < 2 {
		return r, err
	}
	before, err := check.Judge(ctx, "", dir, r.Generation-1)
	if err == nil {
		r.Compare(before)
	}
	return r, err
}

// only refuses flags that are for another kind of check.
func only(cmd *cobra.Command, what string, flags ...string) error {
	i := slices.IndexFunc(flags, func(name string) bool { return cmd.Flags().Changed(name) })
	if i < 0 {
		return nil
	}
	return cli.Usagef("--%s is for %s", flags[i], what)
}

// existing returns the directory, the user's or the default, if it has a crawl of the same seeds; "" if it has none. It
// refuses a crawl of other seeds. It does not compare a list of seeds, which may be endless.
func (c *checking) existing(ctx context.Context, seeds []string) (dir string, err error) {
	want := map[string]bool{}
	dir = c.dir
	for _, s := range seeds {
		seed, err := crawldir.Seed(s, "")
		if err != nil {
			return "", nil // the crawl reports the error
		}
		want[seed.URL.String()] = true
		if dir == "" {
			dir = defaultDir([]frontier.Candidate{seed}, time.Now())
		}
	}
	if c.seeds != "" || len(want) == 0 {
		return "", nil
	}
	if _, err := os.Stat(filepath.Join(dir, crawldir.FrontierName)); err != nil {
		return "", nil // the crawl refuses a used directory
	}
	have, err := begunAt(ctx, dir, len(want)+1)
	if err != nil {
		return "", err
	}
	for s := range have {
		if !want[s] || len(have) != len(want) {
			return "", cli.Usagef("%s has a crawl of other pages, from seeds such as %s: check it again with curtsy linkcheck %s, or name another directory with --dir",
				dir, plainly.OneLine(s), plainly.Argument(dir))
		}
	}
	return dir, nil
}

// begunAt returns at most most seeds of a crawl.
func begunAt(ctx context.Context, dir string, most int) (seeds map[string]bool, err error) {
	seeds = map[string]bool{}
	err = cli.Reading(ctx, dir, func(ctx context.Context, f frontier.Stored) error {
		for s, err := range f.AllSeeds(ctx) {
			if err != nil {
				return err
			}
			if s.From == "" {
				seeds[s.URL.String()] = true
			}
			if len(seeds) == most {
				return nil
			}
		}
		return nil
	})
	return seeds, err
}

// Left returns how many URLs of a crawl are pending.
func Left(ctx context.Context, dir string) (left int64, err error) {
	err = cli.Reading(ctx, dir, func(ctx context.Context, f frontier.Stored) error {
		st, err := f.Stats(ctx)
		left = st.Queued + st.InFlight + st.Deferred
		return err
	})
	return left, err
}

// outputs are the files to write, and those that filter the findings.
type outputs struct {
	html, junit, ignore, baseline string
	github                        bool

	ignores []check.Ignore
	known   check.Baseline
}

// Bounds of input files, in bytes.
const (
	maxIgnores  = 1 << 20
	maxBaseline = 256 << 20
)

// check reads the filters, and refuses files that cannot be written, before any work.
func (o *outputs) check(fs *pflag.FlagSet) error {
	if !fs.Changed("github") {
		o.github = os.Getenv("GITHUB_ACTIONS") == "true"
	}
	if err := cli.MayWrite("--html", o.html, userfile.Kind{Name: "a check page", Mark: htmlpage.Mark("curtsy linkcheck")}); err != nil {
		return err
	}
	if err := cli.MayWrite("--junit", o.junit, userfile.Kind{Name: "JUnit's XML", Mark: text.JUnitMark}); err != nil {
		return err
	}
	if o.ignore != "" {
		text, err := userfile.ReadAll(o.ignore, maxIgnores)
		if err == nil {
			o.ignores, err = check.ParseIgnores(o.ignore, string(text))
		}
		if err != nil {
			return cli.Usagef("--ignore: %w", err)
		}
	}
	if o.baseline != "" {
		text, err := userfile.ReadAll(o.baseline, maxBaseline)
		if err == nil {
			o.known, err = check.ParseBaseline(o.baseline, bytes.NewReader(text))
		}
		if err != nil {
			return cli.Usagef("--baseline: %w", err)
		}
	}
	return nil
}

func (o *outputs) write(r *check.Result) error {
	for _, f := range []struct {
		flag, path string
		write      func(io.Writer, *check.Result) error
	}{{"--html", o.html, text.WriteLinksPage}, {"--junit", o.junit, text.WriteJUnit}} {
		if f.path == "" {
			continue
		}
		if err := durable.Output(f.path, func(w io.Writer) error { return f.write(w, r) }); err != nil {
			return fmt.Errorf("%s: %w", f.flag, err)
		}
	}
	return nil
}

// judgeFolder serves a folder to a crawl in this process, and judges it. The crawl is kept only with --dir.
func (c *checking) judgeFolder(cmd *cobra.Command, folder string) (err error) {
	site, err := static.Open(folder, c.site)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	pages, err := site.Pages()
	if err != nil {
		return err
	}
	if len(pages) == 0 {
		return cli.Usagef("%s contains neither a crawl nor an .html file", folder)
	}
	if c.dir != "" && isCrawl(c.dir) {
		return cli.Usagef("%s already contains a crawl: name a new directory with --dir, or leave the flag out", c.dir)
	}
	if c.s.Served, err = filepath.Abs(folder); err != nil {
		return fmt.Errorf("linkcheck: %w", err)
	}
	if c.dir == "" {
		temp, err := os.MkdirTemp("", "curtsy-check-")
		if err != nil {
			return fmt.Errorf("linkcheck: %w", err)
		}
		defer os.RemoveAll(temp)
		c.dir, c.thrown = filepath.Join(temp, "crawl"), true
		c.quiet = !c.verbose
	}
	fs := cmd.Flags()
	for name, value := range map[string]string{"delay": "0", "per-host": "8"} { // the host is this process
		if f := fs.Lookup(name); !f.Changed {
			if err := fs.Set(name, value); err != nil {
				return err
			}
		}
	}
	l, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("linkcheck: serve %s on this machine: %w", folder, err)
	}
	origin := "http://" + l.Addr().String()
	c.within = func(r *check.Result) {
		r.Within(origin, func(path string) string { // the file of a page, for an editor
			if u, err := url.Parse(path); err == nil {
				path = u.EscapedPath()
			}
			if name, ok := site.File(path); ok {
				return filepath.Join(folder, filepath.FromSlash(name))
			}
			return path
		})
		r.LeadOut(site.LeadsOut)
	}
	server := &http.Server{Handler: site, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	for i := range pages {
		pages[i] = origin + pages[i]
	}
	c.then = func(e Ended) error { return c.judgeEnded(cmd, e) }
	err = crawl(cmd.Context(), c.flags, &c.s, &c.options, World{}, pages, c.std)
	if closed := server.Shutdown(context.WithoutCancel(cmd.Context())); err == nil {
		err = closed
	}
	if ended := <-served; err == nil && !errors.Is(ended, http.ErrServerClosed) {
		err = ended
	}
	return err
}

// isCrawl reports whether a directory has any part of a crawl.
func isCrawl(dir string) bool {
	for _, name := range []string{crawldir.FrontierName, crawldir.LedgerName, crawldir.ConfigName} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
