//go:build unix

package frontiertest

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// other is the user that runs the server when the tests run as root, which PostgreSQL refuses.
func other() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return nil
}

func own(dir string) error {
	if c := other(); c != nil {
		return os.Chown(dir, int(c.Uid), int(c.Gid))
	}
	return nil
}

// command runs as the user of the server.
func command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), name, args...) // it is ended in order, after the test
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: other(), Setpgid: true}
	return cmd
}
