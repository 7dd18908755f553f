//go:build !unix

package progress

import "os"

// foreground returns true, because this system has no job control.
func foreground(*os.File) bool { return true }
