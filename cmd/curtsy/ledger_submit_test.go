package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// lab is a user who crawls a small web and has a key.
type lab struct {
	t      *testing.T
	config string
	seed   string
	key    string
}

// command is one in the configuration folder of the lab.
func (l *lab) command(args ...string) *exec.Cmd {
	l.t.Helper()
	cmd := curtsy(l.t, args...)
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+l.config, "HOME="+l.config, "AppData="+l.config)
	return cmd
}

func (l *lab) run(args ...string) result { l.t.Helper(); return ended(l.t, l.command(args...)) }

func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}
