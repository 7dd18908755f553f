//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !windows

package hostlock

import (
	"errors"
	"os"
	"runtime"
)

const missing = "curtsy knows no locks on parts of a file for " + runtime.GOOS

func lock(*os.File, int64) (bool, error) { return false, errors.ErrUnsupported }
func unlock(*os.File, int64) error       { return errors.ErrUnsupported }
