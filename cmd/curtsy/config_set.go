package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/control"
	"curtsy/storage/plainly"
)

// set is what the flags of config set ask for.
type set struct {
	one                                    map[string]*string // by setting
	exclude, include, noExclude, noInclude []string
	stopWhen, window                       []string
	host, reason                           string
	optOuts, dry, json                     bool
}

// newSet is curtsy config set.
func newSet(std cli.Streams) *cobra.Command {
	s := set{one: map[string]*string{}}
	cmd := cli.Command("config set")
	cmd.Args = cli.OneDir
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error { return s.run(ctx, args[0], std) })
	}
	fs := cmd.Flags()
	budget := func(name, usage string) {
		s.one[name] = fs.String(name, "", usage)
	}
	budget(control.SetMaxPages, "`N` end after this many HTML pages; 0 = unlimited")
	budget(control.SetMaxPerHost, "`N` maximum HTML pages of one host; 0 = unlimited")
	budget(control.SetMaxPerDomain, "`N` maximum HTML pages of one registrable domain; 0 = unlimited")
	budget(control.SetMaxPerTag, "`N` maximum HTML pages found from the seeds with one tag; 0 = unlimited")
	budget(control.SetMaxBytes, "`SIZE` end after receiving this much; 0 = unlimited")
	budget(control.SetMaxTime, "`TIME` end a run after this time; 0 = unlimited")
	fs.StringArrayVar(&s.stopWhen, control.SetStopWhen, nil, "`CONDITION` end when it is true; replaces earlier conditions; repeatable; or none")
	cli.Group(fs, "Budgets")
	fs.StringArrayVar(&s.exclude, "exclude", nil, "`PATTERN` also skip URLs that match (RE2); repeatable")
	fs.StringArrayVar(&s.include, "include", nil, "`PATTERN` also accept URLs that match; with any include pattern, all others are skipped; repeatable")
	fs.StringArrayVar(&s.noExclude, "no-exclude", nil, "`PATTERN` remove this exclude pattern; repeatable")
	fs.StringArrayVar(&s.noInclude, "no-include", nil, "`PATTERN` remove this include pattern; repeatable")
	fs.BoolVar(&s.optOuts, "opt-outs", false, "reread the opt-out lists of a running crawl")
	cli.Group(fs, "Scope")
	budget(control.SetDelay, "`TIME` minimum delay between two requests to a host; must be longer than before")
	fs.StringVar(&s.host, "host", "", "`HOST` with --delay: only this host, or *.example.org for all subdomains")
	fs.StringArrayVar(&s.window, control.SetWindow, nil, "`TIMES` send requests only at these times; replaces earlier ones; in a running crawl\nthe new times must lie within the old; repeatable; or none")
	cli.Group(fs, "Pauses")
	fs.BoolVar(&s.dry, "dry-run", false, "show the effect, but change nothing")
	fs.StringVar(&s.reason, "reason", "", "`TEXT` reason to record in the ledger")
	cli.JSONFlag(cmd, &s.json, "print one JSON object a change")
	return cmd
}

// changes are those that are asked for.
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

// wasSet is what came of a change.
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

// write says it in sentences, with examples.
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
