package fetch

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"curtsy/frontier/canon"
)

// defaultAccept prefers what links can be read from, and takes anything.
const defaultAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// commonFields are the lines that every request of one identity carries alike.
func commonFields(id Identity) string {
	s := "User-Agent: " + id.UserAgent() + "\r\n"
	if from := id.From(); from != "" {
		s += "From: " + from + "\r\n"
	}
	return s
}

// head returns the octets of the request. Its error is misuse.
func (f *Fetcher) head(r Request) ([]byte, error) {
	if r.URL.IsZero() {
		return nil, fmt.Errorf("fetch: the request has no URL")
	}
	if r.MaxBody < 0 {
		return nil, fmt.Errorf("fetch: %s %s: largest body %d: negative", r.method(), r.URL, r.MaxBody)
	}
	target := r.URL.RequestURI()
	// A canonical URL is ASCII without blanks; this is the last place where it matters, so it is not taken on trust.
	if !strings.HasPrefix(target, "/") || !graphic(target) {
		return nil, fmt.Errorf("fetch: %s %s: the target %q is invalid in a request line", r.method(), r.URL, target)
	}
	accept := r.Accept
	if accept == "" {
		accept = defaultAccept
	}
	if !fieldValue(accept) {
		return nil, fmt.Errorf("fetch: %s %s: accept %q: not the value of a header field", r.method(), r.URL, accept)
	}
	b := make([]byte, 0, 512)
	b = append(b, r.method()...)
	b = append(b, ' ')
	b = append(b, target...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, r.URL.Authority().HostPort()...)
	b = append(b, "\r\n"...)
	b = append(b, f.fields...)
	b = appendField(b, "Accept", accept)
	offered := acceptEncoding
	if f.c.AcceptZstd {
		offered += withZstd
	}
	b = appendField(b, "Accept-Encoding", offered)
	b = appendField(b, "Accept-Language", f.c.AcceptLanguage)
	b = appendField(b, "If-None-Match", r.IfNoneMatch)
	b = appendField(b, "If-Modified-Since", r.IfModifiedSince)
	if f.c.KeepAlive < 0 {
		b = appendField(b, "Connection", "close")
	}
	return append(b, "\r\n"...), nil
}

func (r *Request) method() string {
	if r.Head {
		return http.MethodHead
	}
	return http.MethodGet
}

// Signer says who sends a request, in a way that nobody else can.
type Signer interface {
	// Append appends lines of header fields to the head of a request to an authority, as the field Host has it, that is
	// sent at an instant. It may be called concurrently.
	Append(head []byte, authority string, at time.Time) []byte
}

// signed returns the head with the lines that sign it. They are made last, when the connection stands and all waits are
// over, so that a signature lives from its sending on. head itself stays: a request that nobody took is sent again, and
// signed anew.
func (f *Fetcher) signed(head []byte, to canon.Authority, at time.Time) []byte {
	if f.c.Signer == nil {
		return head
	}
	const end = "\r\n"
	b := make([]byte, 0, len(head)+512)
	b = append(b, head[:len(head)-len(end)]...)
	b = f.c.Signer.Append(b, to.HostPort(), at)
	return append(b, end...)
}

// appendField leaves the field out when value is empty or unfit.
func appendField(b []byte, name, value string) []byte {
	if value == "" || !fieldValue(value) {
		return b
	}
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}

// fieldValue reports whether s may be sent as the value of a header field (RFC 9110 5.5): no control octets but TAB,
// so no line can be smuggled in.
func fieldValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// graphic reports whether s is visible ASCII.
func graphic(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}
