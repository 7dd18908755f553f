package plainly

import (
	"path/filepath"
	"strings"
)

// Argument writes the name of a file as a shell takes it, for commands that can be pasted.
func Argument(name string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_"
	switch {
	case name == "" || strings.Trim(filepath.ToSlash(name), safe) != "":
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	case name[0] == '-':
		return "./" + name
	}
	return name
}
