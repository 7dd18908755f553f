package crawlcmd

import (
	"os"

	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// options are the flags of one invocation that are no settings of the crawl.
type options struct {
	dir, seeds, config   string
	json, quiet, verbose bool

	made       bool  // the directory is of this very command
	again      bool  // it is of an earlier one
	generation int64 // that an update began; 0 for none
	dryRun     bool

	planning planning // of a dry run
	mirrored *Built   // the browsable copy, if there is one
	page     beside

	hooks hooks // commands of the user's

	log     string            // how standard error is written
	journal *journal          // it, as events; nil for text
	then    func(Ended) error // in the place of the summary; nil for none
}

// Ended is how a crawl that another command needed ended, and where.
type Ended struct {
	Dir    string
	Result crawldir.Result
	Signal os.Signal // that ended it; nil for none
}

func (o *options) flags(fs *pflag.FlagSet) {
	o.configFlag(fs)
	fs.BoolVar(&o.json, "json", false, "print the summary as JSON on standard output")
	o.runFlags(fs)
	cli.Often(fs, "config")
}

// runFlags are those of whatever runs a crawl.
func (o *options) runFlags(fs *pflag.FlagSet) {
	o.pageFlag(fs)
	o.logFlag(fs)
	o.hooks.flags(fs)
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "print errors only")
	fs.BoolVarP(&o.verbose, "verbose", "v", false, "report every decision")
	cli.Group(fs, "Output and settings")
}

func (o *options) configFlag(fs *pflag.FlagSet) {
	fs.StringVar(&o.config, "config", "", "`FILE` also read settings from this file (TOML)")
}

// pageFlag is that of the live page.
func (o *options) pageFlag(fs *pflag.FlagSet) {
	fs.StringVar(&o.page.Address, "dashboard", "", "`ADDRESS:PORT` serve a dashboard of the crawl, as in 127.0.0.1:0; its\naddress is printed")
	fs.StringVar(&o.page.Token, "dashboard-token", "", "`FILE` dashboard token, in a file that only you can read: stays the\nsame, so Prometheus can scrape /metrics, and is not printed")
}

// placeFlags are those of a new crawl.
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

// check refuses what contradicts itself.
func (o *options) check() error {
	if o.quiet && o.verbose {
		return cli.Usagef("--quiet and --verbose contradict each other")
	}
	if o.dryRun && o.page.Address != "" {
		return cli.Usagef("--dashboard shows a crawl, and --dry-run makes none")
	}
	if o.dryRun && o.hooks.any() {
		return cli.Usagef("--on-end and --on-alert are for a crawl, and this makes none")
	}
	return o.hooks.check()
}
