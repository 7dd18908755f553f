//go:build linux || darwin

package dashboard

import "syscall"

// Free returns the bytes that the user may still write to the disk of path; zero if unknown, so at least 1 for a full disk.
func Free(path string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(path, &s) != nil {
		return 0
	}
	return max(int64(s.Bavail)*int64(s.Bsize), 1) //nolint:unconvert // uint32 on darwin
}
