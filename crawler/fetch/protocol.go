package fetch

import (
	"crypto/tls"
	"strings"
)

// protocols names what is spoken over l, in the words that tools for WARC share.
// https://github.com/iipc/warc-specifications/issues/42
func (l *connection) protocols() []string {
	spoken := []string{"http/1.1"}
	if secured, ok := l.conn.(*tls.Conn); ok {
		version := tls.VersionName(secured.ConnectionState().Version) // "TLS 1.3"
		spoken = append(spoken, strings.ToLower(strings.ReplaceAll(version, " ", "/")))
	}
	return spoken
}
