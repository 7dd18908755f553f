package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
	"curtsy/frontier/durable"
)

func newInit(std cli.Streams) *cobra.Command {
	cmd := cli.Command("config init")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("config init takes one file, not %d", len(args))
		}
		return nil
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		file, err := commented()
		if err != nil {
			return err
		}
		if len(args) == 0 {
			_, err := std.Out.Write(file)
			return err
		}
		switch _, err := os.Lstat(args[0]); {
		case err == nil:
			return cli.Usagef("%s exists already and is not overwritten: name another file", args[0])
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		return durable.Output(args[0], func(w io.Writer) error { _, err := w.Write(file); return err })
	}
	return cmd
}

const head = `# Settings of curtsy, each with its default. A line without the # in front takes effect.
#
# A flag (--max-pages 500) wins over the environment (CURTSY_MAX_PAGES=500), then comes the file that --config names, then
# the crawl's own, crawl.toml, or for a new crawl yours. "curtsy config check FILE" lists the errors in a file, and
# "curtsy config show --origin DIR" the settings in force and their origin.
`

const hostsHead = `
# ---- For some hosts ----

# Any number of these tables, below all else. Each can only make the crawl more considerate than the settings above; if several
# match a host, all apply. match is the name of a host, *.example.org for all below a name, or * for all.
#
# [[host]]
`

// hostComments are what the keys of a [[host]] table mean, with an example. A test holds them complete.
var hostComments = map[string][2]string{
	"match":            {`"*.your-domain.org"`, "which hosts; ports do not count"},
	"delay":            {`"5s"`, "shortest TIME between two requests to each of them; never below 1s"},
	"max-per-host":     {`200`, "at most N HTML pages of each"},
	"per-host-per-day": {`1000`, "at most N requests to each within 24 hours"},
	"include":          {`["/articles/"]`, "of each only URLs that match one of these REGEXPs; seeds are exempt"},
	"exclude":          {`["/search", '\?sort=']`, "no URLs that match one of these"},
	"hours":            {`["22:00-06:00"]`, "hours of the day, in UTC, in which they may be requested"},
}

// commented is a file of all settings, of which none takes effect.
func commented() ([]byte, error) {
	var s crawldir.Settings
	flags := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	flags.SortFlags = false
	config.Flags(&s, flags)
	s.Hosts = nil
	defaults, err := s.TOML()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(head)
	lines := strings.SplitAfter(string(defaults), "\n")
	group := ""
	for i, name := range crawldir.Names() {
		f := flags.Lookup(name)
		if g := f.Annotations[cli.GroupKey]; len(g) > 0 && g[0] != group {
			group = g[0]
			fmt.Fprintf(&b, "\n# ---- %s ----\n", group)
		}
		_, usage := pflag.UnquoteUsage(cli.Shown(f))
		b.WriteByte('\n')
		comment(&b, strings.ReplaceAll(usage, "\n", " "))
		b.WriteString("# " + lines[i])
	}
	b.WriteString(hostsHead)
	for _, name := range crawldir.HostNames() {
		c := hostComments[name]
		comment(&b, "  "+c[1])
		fmt.Fprintf(&b, "# %s = %s\n", name, c[0])
	}
	return b.Bytes(), nil
}

// comment writes a text behind marks of comments, in lines of no great width.
func comment(b *bytes.Buffer, s string) {
	for line := range strings.Lines(text.Wrap("## " + s + "\n")) {
		line, _ = strings.CutPrefix(strings.TrimRight(line, "\n"), "## ")
		b.WriteString("## " + strings.TrimSpace(line) + "\n")
	}
}
