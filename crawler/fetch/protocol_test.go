package fetch

import (
	"net"
	"slices"
	"testing"
)

// An exchange says what was spoken: the version of the answer, ours where none came, nothing where nothing was sent.
func TestProtocolsAreThoseThatWereSpoken(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n":                      "http/1.1",
		"HTTP/1.0 200 OK\r\n\r\n":                                           "http/1.0",
		"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.0 200 OK\r\n\r\nhere it is": "http/1.0",
		"nonsense": "http/1.1",
		"":         "http/1.1",
	} {
		w := &world{serve: func(_ int, conn net.Conn) {
			head := make([]byte, 4096)
			if _, err := conn.Read(head); err != nil {
				t.Error(err)
			}
			say(conn, answer)
		}}
		x := get(t, w.fetcher(t, Config{}), "http://example.com/")
		if !slices.Equal(x.Protocols, []string{want}) {
			t.Errorf("%q: protocols %q, want %q", answer, x.Protocols, want)
		}
	}
	x := get(t, mustNew(t, Config{Resolve: resolveTo("10.0.0.1")}), "http://example.com/")
	if x.Failure == nil || x.Protocols != nil {
		t.Errorf("nothing was sent, and yet %q was spoken", x.Protocols)
	}
}
