//go:build !unix

package fetch

// hasPendingInput cannot tell here whether something waits on an idle connection; a dead one shows when it is used.
func (l *connection) hasPendingInput() bool { return false }
