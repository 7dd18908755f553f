//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// together makes a command and all that it starts end together: interrupted when its time is over, and killed if that
// does not help. Ctrl-C on the terminal reaches us alone, who pass it on.
func together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// endAll ends what a command has left running.
func endAll(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an error means that nothing is left
}
