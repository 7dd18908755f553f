//go:build !linux && !darwin

package dashboard

// Free returns zero: this system does not report free space.
func Free(string) int64 { return 0 }
