package crawlcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler"
	"curtsy/crawler/check"
	"curtsy/crawler/check/static"
	"curtsy/crawler/crawldir"
	"curtsy/storage/plainly"
)

// checking is one invocation.
type checking struct {
	task *Task
	json bool
	site static.Options
	std  cli.Streams

	outputs

	update, offline bool

	thrown bool                // the crawl is not kept
	within func(*check.Result) // has a result speak of a folder; nil for a site
}

// patience is for how long a check waits for hosts that rest: for the first rest after an error, and some more. Whoever waits
// for the result would rather know what is left than wait for all of it.
const patience = 90 * time.Second

// NewLinkCheck is curtsy linkcheck.
func NewLinkCheck(std cli.Streams) *cobra.Command {
	var c checking
	cmd := cli.Command("linkcheck")
	cmd.Long += "\n\n" + config.Scopes
	cmd.Args = cobra.ArbitraryArgs
	fs := cmd.Flags()
	c.task = NewTask(fs)
	c.task.Checks(patience)
	fs.Lookup("dir").Usage = "`DIR` directory of the crawl; one with a crawl of the URL is\ncrawled again (default ./<host>-<UTC date>)"
	cli.Often(fs, "external", "max-wait")
	fs.BoolVar(&c.offline, "offline", false, "check an existing crawl without any request")
	fs.BoolVar(&c.update, "update", false, "crawl an existing crawl again (the default); refuses anything else")
	cli.Often(fs, "offline")
	cli.Group(fs, "An earlier check")
	fs.BoolVar(&c.site.Clean, "clean-urls", false, "resolve /about to about.html")
	fs.StringVar(&c.site.Base, "base", "/", "`PATH` path of the folder on the site, as in /docs/")
	cli.Often(fs, "clean-urls", "base")
	cli.Group(fs, "A folder of files")
	c.outputs.flags(fs)
	fs.BoolVar(&c.json, "json", false, "print one JSON object")
	cli.Often(fs, "json")
	cli.Group(fs, "Output and settings")
	cmd.RunE = c.task.Logged(std, func(cmd *cobra.Command, args []string, std cli.Streams) error {
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
	dir, err := c.task.Begun(cmd.Context(), args)
	switch {
	case err != nil:
		return err
	case dir != "":
		return c.judgeAgain(cmd, dir)
	}
	ended := false
	err = c.task.Crawl(cmd.Context(), args, c.std, func(e Ended) error {
		ended = true
		return c.judgeEnded(cmd, e)
	})
	if _, code := cli.Ended(err); c.json && !ended && code == cli.ExitIncomplete { // no host was reached
		err = errors.Join(cli.WriteJSON(c.std.Out, check.Nothing()), err)
	}
	return err
}

// runDirectory checks a crawl that is there, or a folder of files.
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

// linkcheckDirectory is the one argument that is a directory here, and no URL.
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

// neither says that an argument is neither a URL nor a folder that can be checked; what is wrong with a URL, the crawl says.
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

// judgeEnded judges a crawl that this command made.
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
		err = c.say(dir, r)
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
		if !c.task.Quiet() {
			fmt.Fprintf(c.std.Err, "kept in %s\n", plainly.Lines(e.Dir))
		}
		// In a folder each page is a seed, also one that its robots.txt forbids: only what was not waited for is missing.
		if err == nil && e.Result.Incomplete && (c.within == nil || e.Result.EndedBy == crawler.EndedWaiting) {
			if !c.thrown {
				sayIncomplete(c.std.Err, e.Result.Summary, e.Dir)
			}
			return cli.Silent(cli.ExitIncomplete)
		}
		return err
	})(cmd, nil)
}

// say prints a result.
func (c *checking) say(dir string, r *check.Result) error {
	r.Ignore(c.ignores)
	for _, l := range r.Unused {
		if r.Partial {
			break
		}
		fmt.Fprintf(c.std.Err, "%s:%d: nothing reported matches %s: the line may be unnecessary\n", plainly.OneLine(c.ignore), l.Line, plainly.OneLine(l.Pattern))
	}
	if c.baseline != "" {
		r.Against(c.known)
	}
	err := c.outputs.write(r)
	if err != nil {
		return err
	}
	if c.github {
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
