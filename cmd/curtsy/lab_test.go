package main

import (
	"os/exec"
	"testing"
)

// lab is a user with a configuration folder.
type lab struct {
	t      *testing.T
	config string
}

// command is one in the configuration folder of the lab.
func (l *lab) command(args ...string) *exec.Cmd {
	l.t.Helper()
	cmd := curtsy(l.t, args...)
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+l.config, "HOME="+l.config, "AppData="+l.config)
	return cmd
}

func (l *lab) run(args ...string) result { l.t.Helper(); return ended(l.t, l.command(args...)) }
