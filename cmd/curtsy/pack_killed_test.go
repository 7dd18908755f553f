package main

import (
	"os/exec"
	"testing"
)

// oneUser makes command lines of one user, who has one configuration folder and so one key.
func oneUser(t *testing.T) func(args ...string) *exec.Cmd {
	config := t.TempDir()
	return func(args ...string) *exec.Cmd {
		cmd := curtsy(t, args...)
		for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
			cmd.Env = append(cmd.Env, name+"="+config)
		}
		return cmd
	}
}
