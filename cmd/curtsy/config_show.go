package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/crawldir"
	"curtsy/storage/plainly"
)

// configShown is a setting as --json has it.
type configShown struct {
	Name   string         `json:"name"`
	Value  string         `json:"value"` // as TOML has it
	Origin *config.Origin `json:"origin,omitempty"`
}

func newShow(std cli.Streams) *cobra.Command {
	var s crawldir.Settings
	var file string
	var origin, json bool
	cmd := cli.Command("config show")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("config show takes one crawl directory, not %d", len(args))
		}
		return nil
	}
	fs := cmd.Flags()
	fs.BoolVar(&origin, "origin", false, "show the source of each setting")
	fs.StringVar(&file, "config", "", "`FILE` also read settings from this file (TOML)")
	fs.BoolVar(&json, "json", false, "print one object with all settings and their sources")
	cli.Group(fs, "Output and settings")
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

// lines are the settings as their file has them, and the tables for some hosts.
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

// configWord is an origin for people.
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
