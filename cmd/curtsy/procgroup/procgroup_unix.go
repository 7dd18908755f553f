//go:build unix

package procgroup

import (
	"os/exec"
	"syscall"
)

// Together makes a command and all that it starts end together: interrupted when its time is over, and killed if that
// does not help. Ctrl-C on the terminal reaches us alone, who pass it on.
func Together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// EndAll ends what a command has left running.
func EndAll(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an error means that nothing is left
}
