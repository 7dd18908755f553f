//go:build !unix

package terminal

import "os"

// shellOf is none: there is no job control.
func shellOf(*os.File) *shell { return nil }
