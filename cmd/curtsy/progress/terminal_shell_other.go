//go:build !unix

package progress

import "os"

// shellOf is none: there is no job control.
func shellOf(*os.File) *shell { return nil }
