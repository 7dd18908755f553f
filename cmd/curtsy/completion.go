package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/plainly"
)

// bashWords is for bash without the package bash-completion: the words of the line, as the script wants them.
//
//go:embed words.bash
var bashWords string

// shells are those that there are scripts for.
func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

// newCompletion is curtsy completion.
func newCompletion(std cli.Streams) *cobra.Command {
	cmd := cli.Command("completion")
	cmd.ValidArgsFunction = func(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(given) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return shells(), cobra.ShellCompDirectiveNoFileComp
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("completion takes one shell: %s", strings.Join(shells(), ", "))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		script, err := completion(cmd.Root(), args[0])
		if err != nil {
			return cli.Usagef("%w", err)
		}
		_, err = std.Out.Write(script)
		return err
	}
	return cmd
}

// completion makes the script of a shell.
func completion(root *cobra.Command, shell string) ([]byte, error) {
	var b bytes.Buffer
	write := map[string]func(io.Writer) error{
		"bash":       func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        root.GenZshCompletion,
		"fish":       func(w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": root.GenPowerShellCompletionWithDesc,
	}[shell]
	if write == nil {
		near := ""
		if n := plainly.Nearest(shell, shells()); n != "" {
			near = "; did you mean " + n + "?"
		}
		return nil, fmt.Errorf("no completion for %q%s: write one of %s", shell, near, strings.Join(shells(), ", "))
	}
	if err := write(&b); err != nil {
		return nil, err
	}
	if shell == "bash" {
		b.WriteString(bashWords)
	}
	return b.Bytes(), nil
}
