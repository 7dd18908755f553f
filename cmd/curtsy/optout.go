package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
	"curtsy/frontier/durable"
	"curtsy/storage/optout"
	"curtsy/storage/plainly"
)

func newOptOutAdd(std cli.Streams) *cobra.Command {
	var user, remove bool
	var reason string
	cmd := cli.Command("optout add", cli.Flags{"user": &user, "reason": &reason, "redact": &remove})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := crawldir.UserOptOut()
		dir := ""
		if !user {
			if len(args) == 0 {
				return cli.Usagef("optout add takes a crawl directory and entries, or --user and entries")
			}
			if err := crawldir.Require(args[0]); err != nil {
				return cli.Usagef("optout add takes a crawl directory first, or --user for your own list: %w", err)
			}
			dir, path, args = args[0], filepath.Join(args[0], crawldir.OptOutName), args[1:]
			if err = mayWrite(path); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		if remove && user {
			return cli.Usagef("--redact takes down what one crawl has: name its directory in the place of --user")
		}
		if remove { // refuse entries before any is added
			for _, entry := range args {
				if _, err := entrySubject(entry); err != nil {
					return err
				}
			}
		}
		if err := addOptOuts(path, args, reason, std); err != nil || !remove {
			return err
		}
		return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error {
			return redactEntries(ctx, dir, args, reason, std)
		})
	}
	return cmd
}

// mayWrite refuses an existing file of a crawl directory that cannot be written without changing a file elsewhere.
func mayWrite(path string) error {
	f, err := durable.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	return f.Close()
}

func addOptOuts(path string, texts []string, reason string, std cli.Streams) error {
	if len(texts) == 0 {
		return cli.Usagef("nothing to add: name a host, .domain, address, network, or host/path")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("opt-out list: %w", err)
	}
	added, err := optout.Append(path, texts, reason)
	var io *fs.PathError
	switch {
	case errors.As(err, &io):
		return err
	case err != nil:
		return cli.Usagef("%w", err)
	}
	if err := durable.Names(filepath.Dir(path)); err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "%s added to %s", text.Entries(added), plainly.Lines(path))
	if known := len(texts) - added; known > 0 {
		fmt.Fprintf(std.Err, ", %d already listed", known)
	}
	fmt.Fprintln(std.Err)
	return nil
}

func newOptOutList(std cli.Streams) *cobra.Command {
	var user, asJSON bool
	cmd := cli.Command("optout list", cli.Flags{"user": &user, "json": &asJSON})
	cmd.Args = cobra.ArbitraryArgs // --user takes none
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s := new(crawldir.Settings)
		dir := ""
		if !user {
			if len(args) != 1 {
				return cli.Usagef("optout list takes one crawl directory, or --user")
			}
			dir = args[0]
			if err := crawldir.Require(dir); err != nil {
				return err
			}
			var err error
			if s, err = config.Of(dir); err != nil {
				return err
			}
		} else if len(args) > 0 {
			return cli.Usagef("optout list --user takes no directory")
		}
		if err := s.OpenLists(dir, nil); err != nil {
			return err
		}
		return printOptOuts(s.Lists(), asJSON, std)
	}
	return cmd
}

func printOptOuts(lists *optout.Watch, asJSON bool, std cli.Streams) error {
	table := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	for _, l := range lists.Lists() {
		for _, e := range l.Entries() {
			if !asJSON {
				fmt.Fprintf(table, "%s\t%s\t%s:%d\n", plainly.OneLine(e.Text), plainly.OneLine(e.Reason), plainly.OneLine(l.Name()), e.Line)
				continue
			}
			err := json.NewEncoder(std.Out).Encode(struct {
				Entry  string `json:"entry"`
				Reason string `json:"reason,omitempty"`
				File   string `json:"file"`
				Line   int    `json:"line"`
			}{e.Text, e.Reason, l.Name(), e.Line})
			if err != nil {
				return err
			}
		}
	}
	return table.Flush()
}
