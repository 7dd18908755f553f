//go:build unix

package fetch

import (
	"syscall"
)

// hasPendingInput peeks at an idle connection and reports whether its end or unrequested bytes are waiting, which must
// not be taken for the next response (RFC 9112 9.2). It reports false for a connection that is not a socket.
func (l *connection) hasPendingInput() bool {
	conn := l.conn
	if l.socket != nil {
		conn = l.socket.Conn
	}
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	quiet := false
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		quiet = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	})
	return err != nil || !quiet
}
