//go:build !windows && (!unix || solaris || aix)

package durable

import (
	"io/fs"
	"os"
)

const nonblock = 0

func names(*os.File, fs.FileInfo) (int, error) { return 1, nil }

func lock(*os.File) bool { return true }

func hold(string) (*os.File, bool, error) { return nil, true, nil }
