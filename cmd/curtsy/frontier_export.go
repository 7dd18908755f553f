package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier"
	"curtsy/frontier/durable"
	"curtsy/frontier/ndjson"
	"curtsy/storage/plainly"
)

func newExport(std cli.Streams) *cobra.Command {
	var to string
	cmd := cli.Command("frontier export")
	cmd.Args = cli.OneDir
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return frontierExport(cmd.Context(), args[0], to, std) }
	cmd.Flags().StringVarP(&to, "output", "o", "", "`FILE` write to this file, readable only by you, instead of standard output")
	cli.Group(cmd.Flags(), "Output")
	return cmd
}

func frontierExport(ctx context.Context, dir, to string, std cli.Streams) error {
	if err := cli.MayWrite("--output", to, userfile.Kind{}); err != nil {
		return err
	}
	var ended ndjson.Ended
	err := cli.UntilSignal(ctx, func(ctx context.Context) error {
		return cli.Reading(ctx, dir, func(ctx context.Context, f frontier.Stored) (err error) {
			if to == "" {
				ended, err = exportTo(ctx, f, std.Out)
				return err
			}
			ended, err = exportFile(ctx, f, to)
			return err
		})
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "exported: %s, %s, %s. The export holds the crawl's secret: keep it to yourself\n",
		plainly.Count(ended.Hosts, "host"), plainly.Count(ended.URLs, "URL"), plainly.Count(ended.Seeds, "seed"))
	return nil
}

func exportTo(ctx context.Context, f frontier.Stored, out io.Writer) (ndjson.Ended, error) {
	w := ndjson.NewWriter(out)
	if err := f.Export(ctx, w.Write); err != nil {
		return ndjson.Ended{}, err
	}
	return w.Close()
}

// exportFile writes a new file, whole and durable or not at all, that others cannot read.
func exportFile(ctx context.Context, f frontier.Stored, path string) (ended ndjson.Ended, err error) {
	if _, err := os.Lstat(path); err == nil {
		return ended, cli.Usagef("%s exists: name a new file with --output, or remove it first", path)
	}
	err = durable.New(path, func(w io.Writer) (err error) {
		ended, err = exportTo(ctx, f, w)
		return err
	})
	if err != nil {
		return ended, fmt.Errorf("export: %w", err)
	}
	return ended, nil
}
