//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakOf is the most memory that an ended process held, 0 if nobody knows. On Linux that is never less than what the
// process held that started it (exec hands it on), which is why our own processes tell it of themselves.
func peakOf(p *os.ProcessState) int64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss) //nolint:unconvert // octets there, KiB elsewhere; 32 bits wide on some systems
	}
	return int64(u.Maxrss) << 10 //nolint:unconvert // likewise
}
