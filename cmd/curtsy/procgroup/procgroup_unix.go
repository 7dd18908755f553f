//go:build unix

package procgroup

import (
	"os/exec"
	"syscall"
)

// Together makes a command and its child processes end together: SIGTERM at the timeout, then SIGKILL. Ctrl-C on the terminal
// reaches only this process.
func Together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// EndAll kills the child processes that are still running.
func EndAll(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an error means that none is
}
