//go:build !unix

package progress

import "os"

// foreground reports true: there is no job control.
func foreground(*os.File) bool { return true }
