//go:build !unix

package pgtest

import "os/exec"

func own(string) error { return nil }

func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	return cmd
}
