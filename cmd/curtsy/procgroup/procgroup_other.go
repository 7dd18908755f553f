//go:build !unix

package procgroup

import "os/exec"

// Together does nothing on this system: a timeout kills the command, but not its child processes.
func Together(*exec.Cmd) {}

// EndAll does nothing on this system.
func EndAll(*exec.Cmd) {}
