// Package durable makes names outlive a power cut. What is in a file is made durable by os.File.Sync; that the file is
// there, or has another name, or is gone, by syncing the directory that holds the name (fsync(2), POSIX.1-2024).
package durable

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// Names makes the names in dir durable. Windows has no such call and needs none; a file system that refuses it (some over
// a network do) keeps names in a way of its own.
func Names(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
