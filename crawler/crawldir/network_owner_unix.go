//go:build unix

package crawldir

import (
	"fmt"
	"io/fs"
)

// onlyOwners refuses a file that others may read: a secret that lies open is told to whoever looks.
func onlyOwners(path string, info fs.FileInfo) error {
	if m := info.Mode().Perm(); m&0o077 != 0 {
		return fmt.Errorf("%s may be read by others (mode %04o), and holds a secret: chmod 600 %s", path, m, path)
	}
	return nil
}
