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
	return &cobra.Command{
		Use:   "lint FILE",
		Short: "Find mistakes in a robots.txt file",
		Long: "Print a line FILE:LINE:COLUMN: TEXT (CODE) for everything in a robots.txt that\n" +
			"crawlers ignore or read differently than its author may expect. FILE may be -\n" +
			"for standard input. Exit code 0: nothing found; 3: problems found.",
		Example: "  curtsy robots lint public/robots.txt",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
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
		},
	}
}
