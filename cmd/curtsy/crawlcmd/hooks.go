package crawlcmd

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/dashboard"
	"curtsy/crawler/status"
	"curtsy/storage/plainly"
)

// hooks are the commands that the user has run at the end, and when something is wrong. They are no settings of a crawl: a
// directory that somebody was sent must not run anything.
type hooks struct {
	onEnd, onAlert string // as they are given
	end, alert     *Command

	summary *crawler.Summary // of the run; nil when there was none
}

func (h *hooks) flags(fs *pflag.FlagSet) {
	fs.StringVar(&h.onEnd, "on-end", "", "`COMMAND` run when the crawl has ended for any reason, without a\nshell; {dir}, {state}, {exit}, {message} and others are replaced")
	fs.StringVar(&h.onAlert, "on-alert", "", "`COMMAND` run when something is wrong; {alert}, {host} and {message}\nare replaced")
}

func (h *hooks) any() bool { return h.onEnd != "" || h.onAlert != "" }

// check reads the commands, and finds their programs.
func (h *hooks) check() (err error) {
	if h.onEnd != "" {
		if h.end, err = parse("on-end", h.onEnd, endNames); err != nil {
			return err
		}
	}
	if h.onAlert != "" {
		h.alert, err = parse("on-alert", h.onAlert, alertNames)
	}
	return err
}

// follow runs the command of alerts until ctx ends.
func (h *hooks) follow(ctx context.Context, dir string, c *crawler.Crawl, say func(string, ...any)) {
	if h.alert == nil {
		return
	}
	dir = absolute(dir)
	follow(ctx, c.Status, func() int64 { return dashboard.Free(dir) }, func(a alert, s status.Status) {
		err := h.alert.Run(ctx, hookFacts{"dir": dir, "state": s.State, "alert": a.Name, "host": a.Host, "message": a.Message})
		if err != nil {
			say("%s", plainly.OneLine(err.Error()))
		}
	})
}

// ended runs the command of the end, after all else: err is how the command line ends. It changes nothing of that.
func (h *hooks) ended(ctx context.Context, dir string, err error, std cli.Streams) {
	if h.end == nil || h.summary == nil {
		return
	}
	text, code := cli.Ended(err)
	s := &h.summary.Status
	if text == "" {
		text = fmt.Sprintf("%s: %s, %d failed, %d left", h.summary.EndedBy, plainly.Count(s.Pages, "page"), s.Failed, s.Queued+s.InFlight+s.Deferred)
	}
	facts := hookFacts{
		"dir": absolute(dir), "state": stateOf(code), "exit": strconv.Itoa(code), "ended_by": h.summary.EndedBy,
		"pages": strconv.FormatInt(s.Pages, 10), "failed": strconv.FormatInt(s.Failed, 10),
		"left": strconv.FormatInt(s.Queued+s.InFlight+s.Deferred, 10), "message": text,
	}
	failed := cli.UntilSignal(context.WithoutCancel(ctx), func(ctx context.Context) error { return h.end.Run(ctx, facts) })
	if failed != nil {
		fmt.Fprintf(std.Err, "%s\n", plainly.OneLine(failed.Error()))
	}
}

// stateOf is how a crawl ended, by the exit code.
func stateOf(code int) string {
	switch {
	case code == cli.ExitDone:
		return "finished"
	case code == cli.ExitFound:
		return "found"
	case code == cli.ExitIncomplete:
		return "incomplete"
	case code > cli.ExitSignalled:
		return "interrupted"
	}
	return "failed"
}

// absolute is a directory as commands find it, wherever they run.
func absolute(dir string) string {
	if whole, err := filepath.Abs(dir); err == nil {
		return whole
	}
	return dir
}
