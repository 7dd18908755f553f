//go:build !unix

package fetch

// hasPendingInput cannot be determined here; a dead connection shows when it is used.
func (l *connection) hasPendingInput() bool { return false }
