//go:build unix

package fetch

import (
	"net"
	"syscall"
)

// hasPendingInput reports whether something waits to be read on an idle connection: its end, or octets that nobody
// asked for, which must not be taken for the answer to the next request (RFC 9112 9.2). It looks without taking. Where
// the connection is no socket it cannot tell; a dead one then shows when it is used.
func (l *connection) hasPendingInput() bool {
	conn := l.conn
	if l.socket != nil {
		conn = l.socket.Conn
	}
	return hasPendingInput(conn)
}

func hasPendingInput(conn net.Conn) bool {
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
