//go:build !unix

package fetch

// stirred cannot tell here whether something waits on an idle connection; a dead one shows when it is used.
func (l *line) stirred() bool { return false }
