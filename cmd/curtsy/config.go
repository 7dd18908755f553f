package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/frontier/durable"
	"curtsy/storage/hostrule"
	"curtsy/storage/plainly"
)

// atMostOne is for commands that take one argument, or none if least is 0.
func atMostOne(what string, least int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > 1 {
			return fmt.Errorf("config %s takes %s, not %d", cmd.Name(), what, len(args))
		}
		return nil
	}
}

func newConfigCheck(std cli.Streams) *cobra.Command {
	cmd := cli.Command("config check")
	cmd.Args = atMostOne("one file", 1)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		wrong := crawldir.CheckFile(args[0])
		for _, err := range wrong {
			fmt.Fprintln(std.Err, plainly.Lines(plainly.Error(config.Nearer(err))))
		}
		if len(wrong) > 0 {
			fmt.Fprintf(std.Err, "curtsy: %s in %s\n", plainly.Count(len(wrong), "error"), plainly.Lines(args[0]))
			return cli.Silent(cli.ExitUsage)
		}
		_, err := fmt.Fprintf(std.Out, "%s: OK\n", plainly.Lines(args[0]))
		return err
	}
	return cmd
}

func newInit(std cli.Streams) *cobra.Command {
	cmd := cli.Command("config init")
	cmd.Args = atMostOne("one file", 0)
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

// commented is a settings file in which every setting is a comment.
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
	crawldir.HostFlags(new(hostrule.Rule)).VisitAll(func(f *pflag.Flag) {
		example, usage, _ := strings.Cut(strings.TrimPrefix(f.Usage, "`"), "` ")
		comment(&b, "  "+usage)
		fmt.Fprintf(&b, "# %s = %s\n", f.Name, example)
	})
	return b.Bytes(), nil
}

// comment writes a wrapped text as comments.
func comment(b *bytes.Buffer, s string) {
	for line := range strings.Lines(text.Wrap("## " + s + "\n")) {
		line, _ = strings.CutPrefix(strings.TrimRight(line, "\n"), "## ")
		b.WriteString("## " + strings.TrimSpace(line) + "\n")
	}
}

type configShown struct {
	Name   string         `json:"name"`
	Value  string         `json:"value"` // as TOML has it
	Origin *config.Origin `json:"origin,omitempty"`
}

func newShow(std cli.Streams) *cobra.Command {
	var s crawldir.Settings
	var file string
	var origin, json bool
	cmd := cli.Command("config show", cli.Flags{"origin": &origin, "config": &file, "json": &json})
	cmd.Args = atMostOne("one crawl directory", 0)
	fs := cmd.Flags()
	config.Flags(&s, fs)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		crawl := ""
		if len(args) == 1 {
			if err := crawldir.Require(args[0]); err != nil {
				return err
			}
			crawl = filepath.Join(args[0], crawldir.ConfigName)
		}
		origins, err := config.Origins(&s, fs, file, crawl)
		if err != nil {
			return err
		}
		all, hosts, err := lines(&s, origins)
		if err != nil {
			return err
		}
		if json {
			return cli.WriteJSON(std.Out, struct {
				Settings []configShown    `json:"settings"`
				Hosts    []map[string]any `json:"hosts,omitempty"`
			}{all, s.HostTables()})
		}
		table := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
		for _, x := range all {
			fmt.Fprintf(table, "%s = %s", x.Name, plainly.OneLine(x.Value))
			if origin {
				fmt.Fprintf(table, "\t# %s", configWord(*x.Origin))
			}
			fmt.Fprintln(table)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		if origin && hosts != "" {
			hosts = strings.Replace(hosts, "\n[[", fmt.Sprintf("\n# %s\n[[", configWord(origins[crawldir.HostTable])), 1)
		}
		if hosts != "" {
			_, err = fmt.Fprintln(std.Out, plainly.Lines(strings.TrimRight(hosts, "\n")))
		}
		return err
	}
	return cmd
}

// lines returns the settings as a file has them, and the tables for some hosts.
func lines(s *crawldir.Settings, origins map[string]config.Origin) (all []configShown, hosts string, err error) {
	file, err := s.TOML()
	if err != nil {
		return nil, "", err
	}
	rest := string(file)
	for _, name := range crawldir.Names() {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		o := origins[name]
		all = append(all, configShown{name, strings.TrimPrefix(line, name+" = "), &o})
	}
	return all, rest, nil
}

// configWord describes an origin.
func configWord(o config.Origin) string {
	switch o.From {
	case config.FromFlag, config.FromEnvironment, config.FromDefault:
		if o.At != "" {
			return o.From + " " + o.At
		}
		return o.From
	}
	return o.At + " (" + o.From + ")"
}

type set struct {
	one                                    map[string]*string // by setting
	exclude, include, noExclude, noInclude []string
	stopWhen, window                       []string
	host, reason                           string
	optOuts, dry, json                     bool
}

func newSet(std cli.Streams) *cobra.Command {
	s := set{one: map[string]*string{}}
	flags := cli.Flags{
		control.SetStopWhen: &s.stopWhen, control.SetWindow: &s.window, "opt-outs": &s.optOuts, "host": &s.host,
		"exclude": &s.exclude, "include": &s.include, "no-exclude": &s.noExclude, "no-include": &s.noInclude,
		"dry-run": &s.dry, "reason": &s.reason, "json": &s.json,
	}
	for _, name := range append(control.Budgets(), control.SetDelay) {
		if flags[name] == nil {
			s.one[name] = new(string)
			flags[name] = s.one[name]
		}
	}
	cmd := cli.Command("config set", flags)
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error { return s.run(ctx, args[0], std) })
	return cmd
}

func (s *set) changes() (all []control.Change, err error) {
	lists := map[string][]string{control.SetStopWhen: s.stopWhen, control.SetWindow: s.window}
	for _, name := range append(control.Budgets(), control.SetDelay) {
		v := strings.Join(lists[name], "\n")
		if one := s.one[name]; one != nil {
			v = *one
		}
		if v != "" {
			c := control.Change{Setting: name, Value: v}
			if name == control.SetDelay {
				c.Host = s.host
			}
			all = append(all, c)
		}
	}
	for _, l := range []struct {
		patterns []string
		setting  string
		remove   bool
	}{{s.noExclude, control.SetExclude, true}, {s.noInclude, control.SetInclude, true}, {s.exclude, control.SetExclude, false}, {s.include, control.SetInclude, false}} {
		for _, p := range l.patterns {
			all = append(all, control.Change{Setting: l.setting, Value: p, Remove: l.remove})
		}
	}
	if s.optOuts {
		all = append(all, control.Change{Setting: control.SetOptOuts})
	}
	switch {
	case len(all) == 0:
		return nil, cli.Usagef("nothing to set: give --max-pages, --exclude, --delay or another flag; curtsy config set --help has them")
	case s.host != "" && *s.one[control.SetDelay] == "":
		return nil, cli.Usagef("--host goes with --delay")
	}
	for i := range all {
		all[i].Try = s.dry
	}
	return all, nil
}

type wasSet struct {
	control.Change
	control.Changed
}

func (s *set) run(ctx context.Context, dir string, std cli.Streams) error {
	all, err := s.changes()
	if err != nil {
		return err
	}
	var done []wasSet
	running, err := operate(control.Noted(ctx, s.reason), dir, func(o operated) error {
		for _, c := range all {
			d, err := o.Change(control.Noted(ctx, s.reason), c)
			if err != nil {
				return err
			}
			done = append(done, wasSet{c, d})
		}
		return nil
	})
	for _, d := range done { // also of a command that failed in the middle
		if s.json {
			if err := cli.WriteLine(std.Out, d); err != nil {
				return err
			}
		} else if err := d.write(std.Out); err != nil {
			return err
		}
	}
	if err == nil && !s.dry {
		goOn(std, dir, running)
	}
	return err
}

func (d wasSet) write(to io.Writer) error {
	text := d.Setting + " "
	switch {
	case d.Setting == control.SetOptOuts:
		text += "lists read again: " + d.After
	case d.Changed.Before == "":
		text += fmt.Sprintf("now also has %q", d.After)
	case d.After == "":
		text += fmt.Sprintf("has %q no more", d.Before)
	default:
		text += fmt.Sprintf("%s, was %s", d.After, d.Before)
	}
	if d.Known {
		text += fmt.Sprintf("; of %s queued, it concerns %d", plainly.Count(d.Pending, "URL"), d.URLs)
	}
	if d.Try {
		text = "would be: " + text
	}
	if _, err := fmt.Fprintln(to, plainly.OneLine(text)); err != nil {
		return err
	}
	for _, u := range append(d.Examples, d.Trouble...) {
		if _, err := fmt.Fprintln(to, "  "+plainly.OneLine(u)); err != nil {
			return err
		}
	}
	return nil
}
