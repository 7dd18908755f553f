// Package shellcmd is what the command is to a shell and a system: the scripts that complete it, its manual pages, where
// both are installed, and the version that says which program this is.
package shellcmd
