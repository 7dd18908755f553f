package crawlcmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/crawldir"
)

// A Task is a crawl that another command makes on the way to something of its own.
type Task struct {
	settings crawldir.Settings
	options  options
	flags    *pflag.FlagSet
}

// Ended is how the crawl of a Task ended, and where.
type Ended struct {
	Dir    string
	Result crawldir.Result
	Signal os.Signal // that ended it; nil for none
}

// NewTask declares the flags of a crawl.
func NewTask(fs *pflag.FlagSet) *Task {
	t := &Task{flags: fs}
	fs.StringVar(&t.options.dir, "dir", "", "`DIR` new or empty directory for the crawl (default\n./<host>-<UTC date>)")
	t.options.seedFlag(fs)
	cli.Often(fs, "dir", "seeds")
	cli.Group(fs, "Seeds and directory")
	config.Flags(&t.settings, fs)
	t.options.configFlag(fs)
	t.options.runFlags(fs)
	cli.Often(fs, "config")
	return t
}

// Checks has a run test links, and end when nothing is due within patience, unless the user says otherwise.
func (t *Task) Checks(patience time.Duration) {
	t.settings.LinkCheck, t.settings.MaxWait = true, patience
	t.flags.Lookup("max-wait").DefValue = t.flags.Lookup("max-wait").Value.String()
}

// Quiet reports whether nothing is to be printed for people but errors.
func (t *Task) Quiet() bool { return t.options.quiet || t.options.journal != nil }

// Logged runs a command whose standard error is as --log has it.
func (t *Task) Logged(std cli.Streams, do func(cmd *cobra.Command, args []string, std cli.Streams) error) func(*cobra.Command, []string) error {
	return t.options.logged(std, do)
}

// In has the crawl go into dir, which the user did not name, and say nothing on its way, unless the user asked for that.
func (t *Task) In(dir string) {
	t.options.dir = dir
	t.options.quiet = !t.options.verbose
}

// Serves notes in a new crawl directory that its pages are those of a folder, which this process serves.
func (t *Task) Serves(folder string) (err error) {
	t.settings.Served, err = filepath.Abs(folder)
	return err
}

// Dir is the directory that the user named; empty for none.
func (t *Task) Dir() string { return t.options.dir }

// Crawl crawls from seeds into a new directory, and then has then go on. It is not called where no host was reached: then
// the directory is taken away again.
func (t *Task) Crawl(ctx context.Context, seeds []string, std cli.Streams, then func(Ended) error) error {
	t.options.then = then
	return crawl(ctx, t.flags, &t.settings, &t.options, World{}, seeds, std)
}

// Again crawls again what a crawl has, and then has then go on. A crawl that has not ended goes on.
func (t *Task) Again(ctx context.Context, dir string, std cli.Streams, then func(Ended) error) error {
	t.options.dir, t.options.then = dir, then
	err := update(ctx, t.flags, &t.settings, &t.options, std)
	if errors.Is(err, crawldir.ErrNotEnded) {
		return resume(ctx, t.flags, &t.settings, &t.options, std)
	}
	return err
}
