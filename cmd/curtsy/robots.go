package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage/plainly"
)

// maxFile bounds a robots.txt that is read from a file. Beyond robots.MaxBody it is not parsed anyway.
const maxFile = 64 << 20

// readFile reads a robots.txt from a file, "-" for standard input.
func readFile(path string, std cli.Streams) ([]byte, error) {
	in := std.In
	if path != "-" {
		f, err := userfile.Open(path)
		if err != nil {
			return nil, cli.Absent(fmt.Errorf("robots.txt: %w", err))
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("robots.txt: %w", err)
	}
	if len(body) > maxFile {
		return nil, fmt.Errorf("robots.txt: %s is larger than %s", path, plainly.ExactSize(maxFile))
	}
	return body, nil
}

// jsonLines writes an object per line, with "&" and "<" as they are.
func jsonLines(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

func newLint(std cli.Streams) *cobra.Command {
	cmd := cli.Command("robots lint")
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		body, err := readFile(args[0], std)
		if err != nil {
			return err
		}
		warnings := robots.ParseAll(body).Warnings
		w := bufio.NewWriter(std.Out)
		for _, x := range warnings {
			fmt.Fprintf(w, "%s:%d:%d: %s (%s)\n", plainly.Lines(args[0]), x.Line, x.Column, text.Cell(x.Text), x.Code)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		if len(warnings) > 0 {
			return cli.Silent(cli.ExitFound)
		}
		return nil
	}
	return cmd
}

func newDiff(std cli.Streams) *cobra.Command {
	var by robots.Standard
	cmd := cli.Command("robots diff", cli.Flags{"robots-standard": crawldir.Standard(&by)})
	cmd.Args = cobra.MinimumNArgs(2)
	cli.Words(cmd.Flags(), "robots-standard", config.Standards()...)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		var urls []canon.URL
		for _, a := range args[2:] {
			u, err := cli.URL(a)
			if err != nil {
				return err
			}
			urls = append(urls, u)
		}
		if args[0] == "-" && args[1] == "-" {
			return cli.Usagef("only one of the files can be standard input")
		}
		older, err := readFile(args[0], std)
		if err != nil {
			return err
		}
		newer, err := readFile(args[1], std)
		if err != nil {
			return err
		}
		w := bufio.NewWriter(std.Out)
		differ := diff(w, older, newer, by, urls)
		if err := w.Flush(); err != nil || !differ {
			return err
		}
		return cli.Silent(cli.ExitFound)
	}
	return cmd
}

// diff writes what changes from one robots.txt to another, and reports whether anything does.
func diff(w io.Writer, older, newer []byte, s robots.Standard, urls []canon.URL) (differ bool) {
	say := func(name string, changes []string) {
		differ = true
		fmt.Fprintln(w, name)
		for _, line := range changes {
			fmt.Fprintln(w, "  "+text.Cell(line))
		}
	}
	before, after := namedAgents(older), namedAgents(newer)
	both := maps.Clone(before)
	maps.Copy(both, after)
	everyone := []string{""} // the token of those whom no group names: for them "*" stands
	for _, token := range append(everyone, slices.Sorted(maps.Keys(both))...) {
		o := robots.Options{Token: token, Standard: s}
		p, q := robots.Parse(older, o), robots.Parse(newer, o)
		changes := slices.Concat(changed(saidLines(p), saidLines(q), s), changedVerdicts(p, q, urls))
		switch {
		case after[token] && !before[token]:
			say(token+" (named now; bound by * before)", changes)
		case before[token] && !after[token]:
			say(token+" (named no more; bound by * now)", changes)
		case len(changes) > 0:
			say(cmp.Or(token, "*"), changes)
		}
	}
	of := func(body []byte) []string { return robots.Parse(body, robots.Options{}).Sitemaps() }
	if changes := changed(of(older), of(newer), robots.RFC9309); len(changes) > 0 {
		say("sitemaps", changes)
	}
	return differ
}

// namedAgents returns the product tokens that a file names, in lower case.
func namedAgents(body []byte) map[string]bool {
	named := map[string]bool{}
	for _, g := range robots.ParseAll(body).Groups {
		for _, a := range g.Agents {
			end := strings.IndexFunc(a.Value, func(r rune) bool { return robots.ValidToken(string(r)) != nil })
			if end < 0 {
				end = len(a.Value)
			}
			if end > 0 {
				named[strings.ToLower(a.Value[:end])] = true
			}
		}
	}
	return named
}

// saidLines returns the rules and delays of a policy, a record a line.
func saidLines(p *robots.Policy) (lines []string) {
	for line := range strings.Lines(p.String()) {
		if !strings.HasPrefix(line, "user-agent:") && !strings.HasPrefix(line, "sitemap:") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// changed says which lines go and which come. Their order tells in the 1996 draft alone.
func changed(before, after []string, s robots.Standard) (changes []string) {
	missing := func(sign string, from, in []string) {
		has := map[string]bool{}
		for _, line := range in {
			has[line] = true
		}
		for _, line := range from {
			if !has[line] {
				has[line] = true // said once
				changes = append(changes, sign+line)
			}
		}
	}
	missing("- ", before, after)
	missing("+ ", after, before)
	if len(changes) == 0 && s == robots.Draft1996 && !slices.Equal(before, after) {
		changes = append(changes, "the same rules in another order")
	}
	return changes
}

// changedVerdicts says which of the URLs change sides.
func changedVerdicts(p, q *robots.Policy, urls []canon.URL) (changes []string) {
	for _, u := range urls {
		was, is := newOpinion(p.Match(u.RequestURI()), p.Standard()), newOpinion(q.Match(u.RequestURI()), q.Standard())
		if was.Allow != is.Allow {
			changes = append(changes, fmt.Sprintf("%s: %s, now %s (%s)", u, was.verdict(), is.verdict(), is.because()))
		}
	}
	return changes
}

// because says in a few words what decided.
func (o opinion) because() string {
	if o.Line == 0 {
		return o.Reason
	}
	return fmt.Sprintf("line %d: %s", o.Line, o.Rule)
}
