package fetch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"curtsy/frontier/canon"
	"curtsy/storage"
)

// defaultAccept prefers types with links and accepts any.
const defaultAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// head returns the bytes of the request. Its error is misuse.
func (f *Fetcher) head(r Request) ([]byte, error) {
	if r.URL.IsZero() {
		return nil, fmt.Errorf("fetch: the request has no URL")
	}
	if r.MaxBody < 0 {
		return nil, fmt.Errorf("fetch: %s %s: largest body %d: negative", r.method(), r.URL, r.MaxBody)
	}
	target := r.URL.RequestURI()
	// A canonical URL is ASCII without blanks; check it again where it matters.
	if !strings.HasPrefix(target, "/") || !graphic(target) {
		return nil, fmt.Errorf("fetch: %s %s: the target %q is invalid in a request line", r.method(), r.URL, target)
	}
	accept := cmp.Or(r.Accept, defaultAccept)
	if !httpguts.ValidHeaderFieldValue(accept) {
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

// Signer signs requests. Append may be called concurrently.
type Signer interface {
	// Append appends header field lines to the head of a request to authority, as in Host, that is sent at an instant.
	Append(head []byte, authority string, at time.Time) []byte
}

// signed returns a signed copy of head. It is called just before sending, because signatures expire; a request that is
// sent again is signed again.
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

// appendField omits a field whose value is empty or invalid (RFC 9110 5.5), so that no line can be injected.
func appendField(b []byte, name, value string) []byte {
	if value == "" || !httpguts.ValidHeaderFieldValue(value) {
		return b
	}
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
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

// wire is a request as it is sent, and as it is stored: without secrets.
type wire struct {
	octets []byte
	shown  []byte // stored if the request went out whole
	secret int    // where in octets the first secret begins; both are equal before
}

// kept returns the part to store of a request of which n bytes went out. One that was cut ends before its first secret.
func (w wire) kept(n int) []byte {
	if n == len(w.octets) {
		return w.shown
	}
	return w.octets[:min(n, w.secret)]
}

// wire returns the request as sent over l. A forwarding proxy gets the whole URL (RFC 9112 3.2.2) and its credentials,
// which are not stored. fields are the target's credentials, omitted where a proxy would read them.
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

// SignsIn reports whether there are credentials for an authority.
func (f *Fetcher) SignsIn(a canon.Authority) bool { return f.c.Credentials.Has(a) }

// unrepeated drops a response that repeats credentials, and returns that failure. Otherwise it returns failure, which may
// quote the response.
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

// Request is a request to make.
type Request struct {
	URL canon.URL

	// Head makes the method HEAD instead of GET. The exchange has no body, as if that was not wanted.
	Head bool

	// Addr is the address to use, one of Fetcher.Addresses. A kept connection is used only if it leads there. The guard
	// judges it again. Zero means any, in order.
	Addr netip.AddrPort

	// Own is the authority that the caller knows to be the operator's: Config.Credentials are sent only to it. The zero
	// value sends no credentials.
	Own canon.Authority

	// Accept is the value of that field. Empty means one that prefers pages and accepts any type.
	Accept string

	// IfNoneMatch and IfModifiedSince, from an earlier response, make the request conditional (RFC 9110 13.1). Invalid
	// values are omitted.
	IfNoneMatch, IfModifiedSince string

	// MaxBody bounds the bytes of a decoded body. Zero means Config.MaxBody.
	MaxBody int64

	// Partial reads the body up to MaxBody even if its declared length is larger: the beginning of an oversized robots.txt
	// counts (RFC 9309 2.5).
	Partial bool

	// FirstByteTimeout and WholeTimeout replace those of Config, unless zero.
	FirstByteTimeout, WholeTimeout time.Duration

	// Begin, if not nil, is called when a connection is ready to send the request, and Begun after sending, even if that
	// failed: Begun follows each Begin that returns no error. Begin may wait, which counts against no timeout; its error
	// ends the exchange. If a kept connection is dead, both are called again for the fresh one.
	Begin func(ctx context.Context) error
	Begun func()

	// Meter, if not nil, measures the exchange.
	Meter *Meter

	// Want is called with the final response head. A reason stops before the body; it becomes Exchange.Unwanted, and the
	// connection is closed. Nil wants everything.
	Want func(status int, h http.Header) (reason string)

	// Lines is how many idle connections to the authority may be kept, this one included. Zero means 1.
	Lines int
}

// Meter measures an exchange under way. Its methods may be called concurrently.
type Meter struct {
	octets, ours atomic.Int64
}

// Octets returns how many bytes of the response have been read.
func (m *Meter) Octets() int64 { return m.octets.Load() }

// Ours returns how long the exchange has waited for the crawler: in Request.Begin, and for Config.MaxRate. A wait counts
// when it is over.
func (m *Meter) Ours() time.Duration { return time.Duration(m.ours.Load()) }

// add accepts a nil Meter.
func (m *Meter) add(octets int, wait time.Duration) {
	if m != nil {
		m.octets.Add(int64(octets))
		m.ours.Add(int64(wait))
	}
}

// TooLarge is the Exchange.Unwanted of a body whose declared length is over the limit.
const TooLarge = "too large"

// The values of Exchange.Truncated, in the words of WARC 1.1 5.13.
const (
	CutLength     = "length"      // MaxBody
	CutTime       = "time"        // a timeout
	CutDisconnect = "disconnect"  // the connection ended
	CutOther      = "unspecified" // not wanted, or malformed
)

// Exchange is one request and its response. It must be closed.
type Exchange struct {
	URL    canon.URL
	Addr   netip.AddrPort // dialled, or given to a proxy; zero without a dial, or if only a proxy knows it
	Proxy  string         // without user and password; empty for none
	Reused bool           // over a kept connection

	// Start is when sending began or, if no byte was sent, when work began. End is when the last byte was read, or the
	// failure.
	Start, End time.Time

	// ResponseTime is from the request sent to the first byte of the response, without lookup, connect and TLS
	// (politeness rule 9). It is at least 1 ns if a response began, else zero.
	ResponseTime time.Duration

	Request  []byte            // bytes sent, without secrets
	Response *io.SectionReader // final response as it crossed the connection; nil if none came
	HeadSize int64             // bytes of Response up to and including the empty line; zero without a complete head
	Interim  int               // interim responses (1xx) before it, not part of Response

	// Protocols are the protocols used, the upper one first: "http/1.1", or "http/1.0" if the response says so, and with
	// TLS its version, as "tls/1.3". Nil if no byte was sent.
	Protocols []string

	// Status and Header are those of the final response; zero and nil without a complete head. Header is as net/http
	// parses it: names in canonical case, without Transfer-Encoding, and then without Content-Length.
	Status int
	Header http.Header

	// Body is the decoded body, as far as it came. Nil if the response has none by its status (204, 304), it was not wanted,
	// or there is no complete head.
	Body *io.SectionReader

	// Undecoded is the Content-Encoding that Body still has; empty if Body is plain.
	Undecoded string

	// PayloadDigest is the SHA-256, and PayloadSize the bytes, of the body as far as it came, without transfer coding and
	// with its content coding (WARC 1.1 5.9). Without a complete head the digest is zero. If MaxBody cut Body, both go as
	// far as Response does, which may be further.
	PayloadDigest [32]byte
	PayloadSize   int64

	Truncated string   // why Response or Body ends early (CutLength, …); empty if they do not
	Unwanted  string   // why the body was not read: Request.Want's reason, or TooLarge
	Failure   *Failure // nil if the response is complete, unwanted, or cut by MaxBody

	raw, body *spooled // body is nil if Body is a part of raw
	closed    bool
}

// Close releases Response and Body. Closing again has no effect.
func (x *Exchange) Close() error {
	if x.closed {
		return nil
	}
	x.closed = true
	return errors.Join(x.raw.close(), x.body.close())
}

// Class is the part of an exchange that failed. The ledger stores it.
type Class string

// The classes.
const (
	DNS            Class = storage.ReasonDNS            // the lookup failed or gave no address
	NXDomain       Class = storage.ReasonNXDomain       // the name does not exist
	PrivateAddress Class = storage.ReasonPrivateAddress // every address of the host is refused by the guard
	OptOut         Class = storage.ReasonOptOut         // the address is on an opt-out list
	NoIPv4         Class = storage.ReasonNoIPv4         // Config.Family is IPv4, and the host has no such address
	NoIPv6         Class = storage.ReasonNoIPv6         // the same for IPv6
	Proxy          Class = storage.ReasonProxy          // Err is a *Fault
	Connect        Class = storage.ReasonConnect        // connection refused
	NoRoute        Class = storage.ReasonNoRoute        // host unreachable
	TLS            Class = storage.ReasonTLS            // handshake, or an alert later on
	TLSIssuer      Class = storage.ReasonTLSIssuer      // certificate of an untrusted issuer
	TLSName        Class = storage.ReasonTLSName        // certificate for another name
	TLSExpired     Class = storage.ReasonTLSExpired     // certificate expired or not yet valid
	Timeout        Class = storage.ReasonTimeout        // any timeout except that of the lookup
	Reset          Class = storage.ReasonReset          // the connection ended before a complete response head
	Protocol       Class = storage.ReasonProtocol       // not HTTP/1.x: malformed or oversized head, broken chunks
	Incomplete     Class = storage.ReasonIncomplete     // the connection ended within the body
	Coding         Class = storage.ReasonCoding         // the body is complete, but its content coding is broken
	Stopped        Class = storage.ReasonAborted        // the caller ended it: see Fetcher.Do
)

// OfTLS reports whether c is TLS or one of its kinds.
func (c Class) OfTLS() bool { return c == TLS || c == TLSIssuer || c == TLSName || c == TLSExpired }

func classOfTLS(err error) Class {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return TLSIssuer
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return TLSName
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return TLSExpired
	}
	return TLS
}

// Unconnected reports whether no connection was made.
func (c Class) Unconnected() bool {
	return c == DNS || c == NXDomain || c == Connect || c == NoRoute || c.OfTLS()
}

// Ours reports whether a rule of the crawler prevented the exchange.
func (c Class) Ours() bool {
	return c == PrivateAddress || c == OptOut || c == NoIPv4 || c == NoIPv6
}

// ErrWhole is wrapped by a Failure of class Timeout that Config.WholeTimeout caused: the host may still have been sending.
var ErrWhole = errors.New("the request took too long in all")

// ErrSlow is wrapped by a Failure of class Timeout of a response slower than Config.MinRate, or that the caller ended
// because it was slow and others waited.
var ErrSlow = errors.New("too slow")

// ErrRepeated is wrapped by a Failure of a response that repeats the credentials of its request.
var ErrRepeated = errRepeated

// Failure is the reason why an exchange has no complete response.
type Failure struct {
	Class Class
	Err   error
}

// Error returns at most 300 bytes of printable text: the cause may quote the host.
func (f *Failure) Error() string {
	const most = 300
	s := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, "fetch: "+string(f.Class)+": "+f.Err.Error())
	if len(s) > most {
		cut := most - len("…")
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return s
}

func (f *Failure) Unwrap() error { return f.Err }

// Do makes one exchange, which the caller closes. Exchange.Failure has faults of the host and the network. An error
// means that there is no exchange: ctx was over before the response was complete, the spool failed, too many files are
// open, or the request or the identity (see Identity.CheckContact) is invalid. A ctx cancelled with a *Failure as its
// cause (context.WithCancelCause) ends the exchange with that failure.
func (f *Fetcher) Do(ctx context.Context, r Request) (*Exchange, error) {
	head, err := f.head(r)
	if err != nil {
		return nil, err
	}
	r.MaxBody = cmp.Or(r.MaxBody, f.c.MaxBody)
	r.FirstByteTimeout = cmp.Or(r.FirstByteTimeout, f.c.FirstByteTimeout)
	r.WholeTimeout = cmp.Or(r.WholeTimeout, f.c.WholeTimeout)
	x := &Exchange{URL: r.URL, Start: time.Now()}
	err = f.perform(ctx, x, r, head, x.Start.Add(r.WholeTimeout))
	x.End = time.Now()
	var failure *Failure
	switch {
	case err == nil:
		return x, nil
	case errors.As(over(ctx), &failure):
		x.Failure = failure
		return x, nil
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.As(err, &failure):
		x.Failure = failure
		return x, nil
	}
	return nil, fmt.Errorf("fetch: %s %s: %w", r.method(), r.URL, errors.Join(err, x.Close()))
}

// over returns the error of ctx: its cause if that is a *Failure.
func over(ctx context.Context) error {
	var failure *Failure
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &failure) {
		return failure
	}
	return ctx.Err()
}

// Unmade returns the exchange that was not begun because its lookup failed.
func Unmade(u canon.URL, why *Failure) *Exchange {
	now := time.Now()
	return &Exchange{URL: u, Start: now, End: now, Failure: why}
}

// errStale means that a reused connection took no byte of the request.
var errStale = errors.New("the reused connection had ended")

// perform uses an idle connection if there is one, else, or if that is dead, a fresh one.
func (f *Fetcher) perform(ctx context.Context, x *Exchange, r Request, head []byte, end time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a := r.URL.Authority()
	if l := f.idle.take(a, r.Addr); l != nil {
		l.watch(ctx, end)
		if err := f.refuse(l.addr.Addr()); err != nil {
			l.release()
			l.abort()
			return err
		}
		x.Reused = true
		if err := f.converse(ctx, x, l, r, head); !errors.Is(err, errStale) {
			return err
		}
		if err := x.raw.close(); err != nil {
			return err
		}
		*x = Exchange{URL: x.URL, Start: time.Now()}
		end = l.end
	}
	l, err := f.connect(ctx, x, a, r.Addr, end)
	if err != nil {
		return err
	}
	return f.converse(ctx, x, l, r, head)
}

// converse makes the exchange over l, and keeps or closes l.
func (f *Fetcher) converse(ctx context.Context, x *Exchange, l *connection, r Request, head []byte) error {
	if r.Begin != nil {
		before := time.Now()
		if err := r.Begin(ctx); err != nil {
			l.release()
			l.abort()
			return err
		}
		l.end = l.end.Add(time.Since(before))
		r.Meter.add(0, time.Since(before))
	}
	x.Addr, x.raw = l.addr, f.newSpooled()
	if l.proxy != nil {
		x.Proxy = l.proxy.String()
	}
	l.used++
	l.raw, l.left, l.idle = x.raw, headLimit+readBuffer, f.c.IdleTimeout
	l.first, l.err = time.Time{}, nil
	l.meter, l.speed = r.Meter, leastSpeed{octets: f.leastInSpan, over: f.c.SpeedSpan}
	keep, err := f.exchange(x, l, r, head)
	switch fit := l.release(); {
	case !fit || err != nil:
		l.abort()
	case !keep || !f.idle.put(l, r.Lines):
		l.close()
	}
	return err
}

// exchange sends the request and reads the response. keep reports that l may be reused.
func (f *Fetcher) exchange(x *Exchange, l *connection, r Request, head []byte) (keep bool, err error) {
	x.Start = time.Now()
	a := r.URL.Authority()
	var fields []field
	if a == r.Own { // politeness rule 28
		fields = f.c.Credentials.Of(a)
	}
	w := l.wire(f.signed(head, a, x.Start), fields)
	l.patience = l.idle
	l.wait(l.patience)
	n, err := l.conn.Write(w.octets)
	l.err = err
	x.Request = w.kept(n)
	if n > 0 {
		x.Protocols = l.protocols()
	}
	if r.Begun != nil {
		r.Begun()
	}
	if err != nil {
		_, err = l.fault(err, Reset)
		return false, l.stale(n, err)
	}
	sent := time.Now()
	l.await(r.FirstByteTimeout)
	resp, begin, err := f.readHead(x, l, &r) //nolint:bodyclose // Close would read on to the end
	var failed *Failure
	if l.forwarded() && errors.As(err, &failed) && (failed.Class == Reset || failed.Class == Protocol) {
		err = &Failure{Proxy, l.proxy.Fault(Odd, failed.Err)} // a proxy must answer for its target (RFC 9110 15.6.3)
	}
	if !l.first.IsZero() {
		x.ResponseTime = max(l.first.Sub(sent), 1)
	}
	if err == nil && x.Status == http.StatusProxyAuthRequired && l.forwarded() {
		err = &Failure{Proxy, l.proxy.Fault(Odd, errors.New("it wants another user or password, or the target says so (407)"))}
	}
	if err == nil {
		x.HeadSize = l.consumed() - begin
		keep, err = f.readRest(x, l, resp, r)
	}
	finish := l.consumed()
	if err != nil {
		finish = x.raw.Size()
	}
	if finish > begin {
		x.Response = io.NewSectionReader(x.raw, begin, finish-begin)
	} else {
		x.Truncated = ""
	}
	if err = x.unrepeated(fields, err); err != nil {
		keep = false
	}
	return keep && l.br.Buffered() == 0, err
}

// stale returns errStale if l was reused and sent n = 0 bytes of the request: a server may close an idle connection at
// any time (RFC 9112 9.3.1). A request that went out may have been processed; repeating it would skip the delay.
func (l *connection) stale(n int, err error) error {
	var failure *Failure
	if l.used > 1 && n == 0 && errors.As(err, &failure) && failure.Class == Reset {
		return errStale
	}
	return err
}

// readHead reads the head of the final response, which begins at byte begin of l.raw. The head limit is below the
// spool's memory, so that no disk error can occur.
func (f *Fetcher) readHead(x *Exchange, l *connection, r *Request) (resp *http.Response, begin int64, err error) {
	asked := &http.Request{Method: r.method()}
	for {
		resp, err = http.ReadResponse(l.br, asked)
		if err == nil {
			err = plausible(resp)
		}
		switch {
		case errors.Is(l.err, errBudget) || err == nil && l.consumed() > headLimit:
			x.Truncated = CutOther // not CutLength: an endless head is useless
			return nil, begin, &Failure{Protocol, fmt.Errorf("response header over %d bytes", headLimit)}
		case err != nil:
			x.Truncated, err = l.fault(err, Reset)
			return nil, begin, err
		case resp.StatusCode >= 200:
			x.Status, x.Header = resp.StatusCode, resp.Header
			if resp.ProtoMinor == 0 {
				x.Protocols[0] = "http/1.0"
			}
			return resp, begin, nil
		}
		begin = l.consumed()
		if x.Interim++; x.Interim > maxInterim {
			x.Truncated = CutOther
			return nil, begin, &Failure{Protocol, fmt.Errorf("more than %d interim responses", maxInterim)}
		}
		l.await(r.FirstByteTimeout)
	}
}

// plausible is stricter than net/http: it rejects other versions, invalid status codes, unrequested protocol switches.
func plausible(resp *http.Response) error {
	switch {
	case resp.ProtoMajor != 1:
		return fmt.Errorf("answer in %q, not HTTP/1.x", resp.Proto)
	case resp.StatusCode < 100:
		return fmt.Errorf("status code %d", resp.StatusCode)
	case resp.StatusCode == http.StatusSwitchingProtocols:
		return errors.New("switch of protocols without a request for it")
	}
	return nil
}
