//go:build linux || darwin

package dashboard

import "syscall"

// Free is how many bytes are free on the disk of a path, for whoever asks; zero when the system does not say, and never for a
// full one.
func Free(path string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(path, &s) != nil {
		return 0
	}
	return max(int64(s.Bavail)*int64(s.Bsize), 1) //nolint:unconvert // uint32 on darwin
}
