package crawlcmd

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/check"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier/durable"
)

// outputs are the files that say what was found, and the one that says what is left out.
type outputs struct {
	html, junit, ignore, baseline string
	github                        bool

	ignores []check.Ignore
	known   check.Baseline
}

func (o *outputs) flags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ignore, "ignore", "", "`FILE` do not report listed URLs, which are requested all the same: on each\nline a regular expression, a space, and the reason")
	fs.StringVar(&o.baseline, "baseline", "", "`FILE` earlier --json output: only links that are not broken\nthere are listed and cause exit code 3")
	fs.StringVar(&o.html, "html", "", "`FILE` also write an HTML page")
	fs.StringVar(&o.junit, "junit", "", "`FILE` also write JUnit XML, for CI")
	fs.BoolVar(&o.github, "github", false, "also write annotations for GitHub Actions (default if\nGITHUB_ACTIONS is true)")
	cli.Often(fs, "ignore", "baseline", "html", "junit", "github")
	cli.Group(fs, "Findings")
}

// How large a file of what is left out, and a baseline, may be.
const (
	maxIgnores  = 1 << 20
	maxBaseline = 256 << 20
)

// check reads what is left out, and refuses files that may not be written, before there is any work.
func (o *outputs) check(fs *pflag.FlagSet) error {
	if !fs.Changed("github") {
		o.github = os.Getenv("GITHUB_ACTIONS") == "true"
	}
	if err := cli.MayWrite("--html", o.html, userfile.Kind{Name: "a check page", Mark: text.LinksPageMark}); err != nil {
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

// write writes the files that were asked for.
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
