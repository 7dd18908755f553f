package main

import (
	"github.com/spf13/cobra"
)

// newFrontier is the group of commands about what a crawl has to do, and what it has done.
func newFrontier(std stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "frontier",
		Short: "Change what a stopped crawl has to do",
		Args:  knownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newFrontierRetry(std))
	return cmd
}
