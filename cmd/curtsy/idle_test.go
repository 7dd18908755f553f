package main

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
)

// An option that switches on what is on already does nothing: its command refuses it and says so, as curtsy mirror does
// --mirror.
func TestAnOptionThatSwitchesOnWhatIsOnIsRefused(t *testing.T) {
	t.Parallel()
	var visit func(cmd *cobra.Command)
	found := 0
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "bool" || f.DefValue != "true" {
				return
			}
			found++
			var args []string
			for c := cmd; c.HasParent(); c = c.Parent() {
				args = append([]string{c.Name()}, args...)
			}
			inside(t, append(args, "--"+f.Name, "http://127.0.0.1:9/")...).want(t, cli.ExitUsage, "--"+f.Name+" is the default here", "--"+f.Name+"=false")
		})
	}
	visit(newRoot(cli.Streams{}))
	if found == 0 {
		t.Error("no option is on by default: curtsy mirror --mirror was")
	}
}
