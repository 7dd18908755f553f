package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/robots"
	"curtsy/storage/plainly"
)

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
