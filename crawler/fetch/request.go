package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

// wire is a request as it is sent, and as it is kept: without what is secret.
type wire struct {
	octets []byte
	shown  []byte // what is kept of a request that went out whole
	secret int    // where in octets the first secret begins; up to there both are alike
}

// kept is what may be kept of a request of which n octets went out. One that was cut ends before its first secret.
func (w wire) kept(n int) []byte {
	if n == len(w.octets) {
		return w.shown
	}
	return w.octets[:min(n, w.secret)]
}

// wire is the request with a head, as it goes out over l. A proxy that forwards it gets the whole URL (RFC 9112 3.2.2), and
// is told who we are, which is none of the target's business and is not kept. fields
// say who we are to the target itself, and are left out where a proxy would read them.
func (l *connection) wire(head []byte, fields []field) wire {
	if l.forwarded() {
		target := bytes.IndexByte(head, ' ') + 1 // behind the method
		b := make([]byte, 0, len(head)+len(l.authority.Origin()))
		b = append(append(b, head[:target]...), l.authority.Origin()...)
		head = append(b, head[target:]...)
	}
	w := wire{octets: head, shown: head, secret: len(head)}
	if l.forwarded() && l.proxy.HasCredentials() {
		const end = "\r\n"
		w.secret = len(head) - len(end)
		b := make([]byte, 0, len(head)+512)
		b = append(append(b, head[:w.secret]...), l.proxy.Authorization()...)
		w.octets = append(b, end...)
		return w
	}
	if len(fields) > 0 && !l.forwarded() {
		const end = "\r\n"
		w.secret = len(head) - len(end)
		sent, shown := bytes.Clone(head[:w.secret]), bytes.Clone(head[:w.secret])
		for _, f := range fields {
			sent, shown = append(sent, f.Line()...), append(shown, f.Shown()...)
		}
		w.octets, w.shown = append(sent, end...), append(shown, end...)
	}
	return w
}

// credentials are the fields that say who we are to the host of a request. They need two keys: the caller says which
// authority is proved to be the operator's own (politeness rule 28), and the set has what belongs to the authority of the
// URL that is asked for.
func (f *Fetcher) credentials(r *Request) []field {
	if a := r.URL.Authority(); a == r.Own {
		return f.c.Credentials.Of(a)
	}
	return nil
}

// SignsIn reports whether there are credentials for an authority.
func (f *Fetcher) SignsIn(a canon.Authority) bool { return f.c.Credentials.Has(a) }

// unrepeated takes back an answer that has what it was asked with, and then says so. failure is how the exchange ended: it may
// quote the answer.
func (x *Exchange) unrepeated(fields []field, failure error) error {
	if len(fields) == 0 || x.raw == nil {
		return failure
	}
	repeated, err := credentialRepeated(fields, io.NewSectionReader(x.raw, 0, x.raw.Size()))
	if err == nil && !repeated && x.Body != nil {
		repeated, err = credentialRepeated(fields, io.NewSectionReader(x.Body, 0, x.Body.Size()))
	}
	switch {
	case err != nil:
		return &spoolError{err}
	case !repeated:
		return failure
	}
	x.Response, x.Body, x.HeadSize, x.Status, x.Header = nil, nil, 0, 0, nil
	x.Undecoded, x.PayloadDigest, x.PayloadSize, x.Truncated, x.Unwanted = "", [32]byte{}, 0, "", ""
	return &Failure{Protocol, errRepeated}
}

// forwarded reports whether requests over l go to a proxy, which forwards them.
func (l *connection) forwarded() bool {
	return l.proxy != nil && l.proxy.Forwards() && l.authority.Scheme() != "https"
}

// malformedProxyResponse is what a failure means that came in the place of a head, where a proxy forwards: it has to answer for its target
// then (RFC 9110 15.6.3), and did not.
func (l *connection) malformedProxyResponse(err error) error {
	var failed *Failure
	if errors.As(err, &failed) && (failed.Class == Reset || failed.Class == Protocol) {
		return &Failure{Proxy, l.proxy.Fault(Odd, failed.Err)}
	}
	return err
}

// unwelcome is what a status 407 means where a proxy forwards: its own, as it should be, or one that a target made up.
func (l *connection) unwelcome() error {
	return &Failure{Proxy, l.proxy.Fault(Odd, errors.New("it wants another user or password, or the target says so (407)"))}
}
