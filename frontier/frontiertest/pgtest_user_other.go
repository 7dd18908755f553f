//go:build !unix

package frontiertest

import (
	"context"
	"os/exec"
)

func own(string) error { return nil }

func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), name, args...) // it is ended in order, after the test
	cmd.Dir = dir
	return cmd
}
