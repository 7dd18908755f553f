//go:build !windows

package progress

import "os"

// steerable reports whether a terminal obeys control sequences.
func steerable(*os.File) bool { return true }
