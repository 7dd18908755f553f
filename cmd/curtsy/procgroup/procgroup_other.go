//go:build !unix

package procgroup

import "os/exec"

// Together leaves it at what exec does: the command is killed when its time is over, but not what it has started.
func Together(*exec.Cmd) {}

// EndAll cannot reach what a command has left running.
func EndAll(*exec.Cmd) {}
