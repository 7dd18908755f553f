//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakOf is the peak memory of an ended process; 0 if unknown. On Linux it is at least that of the process that started it
// (exec passes it on), so processes of this program measure their own.
func peakOf(p *os.ProcessState) int64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(u.Maxrss) //nolint:unconvert // bytes there, KiB elsewhere; 32 bits wide on some systems
	}
	return int64(u.Maxrss) << 10 //nolint:unconvert // 32 bits wide on some systems
}
