package fetch

import (
	"bytes"
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

// appendField leaves the field out when value is empty or unfit (RFC 9110 5.5): no line can be smuggled in.
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

// Request says what to ask for.
type Request struct {
	URL canon.URL

	// Head asks for the head alone, by HEAD. The method is GET otherwise. The answer is one without its body, as if that was not wanted:
	// Truncated says so.
	Head bool

	// Addr is the address that the exchange goes to, one of Fetcher.Addresses: a fresh connection is made to it and to no
	// other, and a kept one is used only if it leads there. The guard judges it again. Zero means any, in order.
	Addr netip.AddrPort

	// Own is the authority that the caller knows to be the operator's own: the fields of Config.Credentials go to it, and to no
	// other, whatever URL has. The zero value sends none.
	Own canon.Authority

	// Accept is the value of that field. Empty means one that prefers pages and takes anything.
	Accept string

	// IfNoneMatch and IfModifiedSince make the request conditional (RFC 9110 13.1). They come from an earlier answer;
	// a value that is not fit for a header field is left out, which makes the request unconditional and so right.
	IfNoneMatch, IfModifiedSince string

	// MaxBody is the most octets of a decoded body. Zero means Config.MaxBody.
	MaxBody int64

	// Partial asks for the body up to MaxBody even when its declared length is over that: the beginning of an oversized
	// robots.txt counts (RFC 9309 2.5).
	Partial bool

	// FirstByteTimeout and WholeTimeout take the place of those of Config, when not zero: some requests are worth less
	// patience than a page.
	FirstByteTimeout, WholeTimeout time.Duration

	// Begin, if not nil, is called when a connection stands and the request is about to go out over it, Begun once it has
	// gone out, or could not: Begun follows each Begin that returns no error. Begin may wait, which counts against no
	// time-out; its error ends the exchange. Where a kept connection proves dead, both are called again for the fresh one.
	Begin func(ctx context.Context) error
	Begun func()

	// Meter, if not nil, is told how the exchange goes on.
	Meter *Meter

	// Want is called once the final response head is there. A reason stops before the body; it becomes
	// Exchange.Unwanted, and the connection is closed. Nil wants everything.
	Want func(status int, h http.Header) (reason string)

	// Lines is how many idle connections to the authority may be kept, this one among them. Zero means 1.
	Lines int
}

// Meter tells how an exchange goes on, to whoever wants to know while it does.
type Meter struct {
	octets, ours atomic.Int64
}

// Octets is how many octets have been read of the answer.
func (m *Meter) Octets() int64 { return m.octets.Load() }

// Ours is how long the exchange has waited for us and not for the host: in Request.Begin, and for Config.MaxRate. A
// wait counts when it is over.
func (m *Meter) Ours() time.Duration { return time.Duration(m.ours.Load()) }

// add notes so many octets and a wait of ours. A nil Meter takes no notes.
func (m *Meter) add(octets int, wait time.Duration) {
	if m != nil {
		m.octets.Add(int64(octets))
		m.ours.Add(int64(wait))
	}
}

// TooLarge is the Exchange.Unwanted of a body whose declared length is over the cap.
const TooLarge = "too large"

// The values of Exchange.Truncated, in the words of WARC 1.1 5.13.
const (
	CutLength     = "length"      // a cap of ours
	CutTime       = "time"        // a time-out
	CutDisconnect = "disconnect"  // the connection ended
	CutOther      = "unspecified" // it was not wanted, or made no sense
)

// Exchange is one request and what came of it. It must be closed.
type Exchange struct {
	URL    canon.URL
	Addr   netip.AddrPort // the address dialled, or that a proxy was told; zero when it did not come to that, or a proxy alone knows it
	Proxy  string         // the proxy it went through, without user and password; empty for none
	Reused bool           // over a connection that had carried an exchange before

	// Start is when the first octet of the request was sent or, if it did not come to that, when work began. End is
	// when the last octet was read, or the failure.
	Start, End time.Time

	// ResponseTime is from the request sent to the first octet of the answer, without look-up, connect and TLS
	// (politeness rule 9). It is at least 1 ns when an answer began, and zero when none did.
	ResponseTime time.Duration

	Request  []byte            // octets sent
	Response *io.SectionReader // octets of the final response as they crossed the connection; nil when none came
	// octets of Response that are its head, the empty line included; zero without a complete head
	HeadSize int64
	Interim  int // interim responses (1xx) before it, not part of Response

	// Protocols are the protocols spoken, the upper one first: "http/1.1", or "http/1.0" when the answer says so, and
	// above TLS its version, as "tls/1.3". Nil when nothing was sent.
	Protocols []string

	// Status and Header are those of the final response; zero and nil without a complete head. Header is as net/http
	// parses it: names in canonical case, and without the fields that net/http takes for framing
	// (Transfer-Encoding, and then Content-Length). Response has the bytes as they were sent.
	Status int
	Header http.Header

	// Body is the decoded body, as far as it came. Nil when the response has none by its status (204, 304), it was not
	// wanted, or there is no complete head.
	Body *io.SectionReader

	// Undecoded is the value of Content-Encoding when Body still carries it; empty when Body is plain.
	Undecoded string

	// PayloadDigest is the SHA-256, and PayloadSize the octets, of the body as far as it came, without transfer coding
	// and with its content coding (WARC 1.1 5.9). When no octet was read the digest is that of none, and without a
	// complete head it is zero. When the cap cut Body, both go as far as Response does, which may be further.
	PayloadDigest [32]byte
	PayloadSize   int64

	Truncated string   // why Response, or Body alone, ends early (CutLength, …); empty when they do not
	Unwanted  string   // why the body was not read: what Request.Want said, or TooLarge
	Failure   *Failure // nil when the response is complete, unwanted, or cut by the cap on its length

	raw, body *spooled // body is nil when Body is a part of raw
	closed    bool
}

// Close releases what the exchange holds. Response and Body must not be used after it; closing again does nothing.
func (x *Exchange) Close() error {
	if x.closed {
		return nil
	}
	x.closed = true
	return errors.Join(x.raw.close(), x.body.close())
}

// Class says which part of an exchange failed. Classes are stable: they are counted and written to the ledger.
type Class string

// The classes.
const (
	DNS            Class = storage.ReasonDNS            // the look-up failed or gave no address
	NXDomain       Class = storage.ReasonNXDomain       // the name does not exist
	PrivateAddress Class = storage.ReasonPrivateAddress // every address of the host is refused by the guard
	OptOut         Class = storage.ReasonOptOut         // the address is on an opt-out list
	NoIPv4         Class = storage.ReasonNoIPv4         // Config.Family is IPv4, of which the host has no address
	NoIPv6         Class = storage.ReasonNoIPv6         // likewise
	// nobody but a proxy was asked: Err is a *proxy.Fault, which says whom to blame
	Proxy   Class = storage.ReasonProxy
	Connect Class = storage.ReasonConnect // no connection: somebody is there, and refuses it
	NoRoute Class = storage.ReasonNoRoute // no connection: nobody is there, or no way leads there
	TLS     Class = storage.ReasonTLS     // handshake, or an alert later on
	// the server's certificate: nobody trusted issued it, it is for another name, or its time is over or has not begun
	TLSIssuer  Class = storage.ReasonTLSIssuer
	TLSName    Class = storage.ReasonTLSName
	TLSExpired Class = storage.ReasonTLSExpired
	Timeout    Class = storage.ReasonTimeout // any of the time-outs but that of the look-up
	Reset      Class = storage.ReasonReset   // the connection ended before a complete response head
	// not HTTP/1.x: malformed or oversized head, broken chunks, too many interim responses
	Protocol   Class = storage.ReasonProtocol
	Incomplete Class = storage.ReasonIncomplete // the connection ended within the body
	Coding     Class = storage.ReasonCoding     // the body arrived whole, its content coding is broken
	// the caller ended it, for a reason that is none of the host's: see Fetcher.Do
	Stopped Class = storage.ReasonAborted
)

// OfTLS reports whether c is TLS or one of its kinds.
func (c Class) OfTLS() bool { return c == TLS || c == TLSIssuer || c == TLSName || c == TLSExpired }

// classOfTLS returns the class of a failed handshake.
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

// Unconnected reports whether no connection came about.
func (c Class) Unconnected() bool {
	return c == DNS || c == NXDomain || c == Connect || c == NoRoute || c.OfTLS()
}

// Ours reports whether a rule of our own kept the exchange from being made: nobody was asked, and the host is not to blame.
func (c Class) Ours() bool {
	return c == PrivateAddress || c == OptOut || c == NoIPv4 || c == NoIPv6
}

// ErrWhole is wrapped by a Failure of class Timeout that Config.WholeTimeout caused. That is a limit of ours: the
// host may still have been sending.
var ErrWhole = errors.New("the request took too long in all")

// ErrSlow is wrapped by a Failure of class Timeout of an answer that came more slowly than Config.MinRate, or that
// the caller ended because it was slow and others waited.
var ErrSlow = errors.New("too slow")

// ErrRepeated is wrapped by a Failure of an answer that repeats the credentials that it was asked with.
var ErrRepeated = errRepeated

// Failure is why an exchange brought no complete response.
type Failure struct {
	Class Class
	Err   error
}

// Error returns class and cause in at most 300 octets of printable text: the cause may quote what the host sent.
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

// Do makes one exchange. Exchange.Failure has what the world does wrong. An error means that there is no exchange:
// ctx was over before the response was complete, the spool failed, too many files are open, or the request or the
// identity (see Identity.CheckContact) cannot be used. The caller closes the exchange.
//
// A ctx that was cancelled with a *Failure as its cause (context.WithCancelCause) is another matter: it ends the
// exchange as quickly, and what came of it until then is an exchange that failed like that.
func (f *Fetcher) Do(ctx context.Context, r Request) (*Exchange, error) {
	head, err := f.head(r)
	if err != nil {
		return nil, err
	}
	if r.MaxBody == 0 {
		r.MaxBody = f.c.MaxBody
	}
	if r.FirstByteTimeout == 0 {
		r.FirstByteTimeout = f.c.FirstByteTimeout
	}
	if r.WholeTimeout == 0 {
		r.WholeTimeout = f.c.WholeTimeout
	}
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

// over is the error of ctx: its cause if that is a *Failure.
func over(ctx context.Context) error {
	var failure *Failure
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &failure) {
		return failure
	}
	return ctx.Err()
}

// Unmade returns the exchange that was not begun because its look-up failed.
func Unmade(u canon.URL, why *Failure) *Exchange {
	now := time.Now()
	return &Exchange{URL: u, Start: now, End: now, Failure: why}
}

// errStale is a reused connection that took nothing of the request.
var errStale = errors.New("the reused connection had ended")

// perform goes over the idle connection if there is one, else, or when that proves dead, over a fresh one.
func (f *Fetcher) perform(ctx context.Context, x *Exchange, r Request, head []byte, end time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a := r.URL.Authority()
	if l := f.idle.take(a, r.Addr); l != nil {
		l.watch(ctx, end)
		if err := f.refuse(l.addr.Addr()); err != nil { // none is on a list that only a proxy knows
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
	l.begin(x.raw, headLimit+readBuffer, f.c.IdleTimeout)
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

// exchange sends the request and reads the answer. keep says that l may carry another one.
func (f *Fetcher) exchange(x *Exchange, l *connection, r Request, head []byte) (keep bool, err error) {
	x.Start = time.Now()
	fields := f.credentials(&r)
	w := l.wire(f.signed(head, r.URL.Authority(), x.Start), fields)
	n, err := l.send(w.octets)
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
	// A body holds nothing, and its Close would read on to the end.
	resp, begin, err := f.readHead(x, l, &r) //nolint:bodyclose // see above
	if err != nil && l.forwarded() {
		err = l.malformedProxyResponse(err)
	}
	if !l.first.IsZero() {
		x.ResponseTime = max(l.first.Sub(sent), 1)
	}
	if err == nil && x.Status == http.StatusProxyAuthRequired && l.forwarded() {
		err = l.unwelcome()
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

// stale makes errStale of err if l was reused and took nothing of the request, of which n octets were sent. A server
// may close an idle connection at any time, and such a request was not made (RFC 9112 9.3.1). One that went out may
// have been heard: to ask again at once would be two exchanges without a pause.
func (l *connection) stale(n int, err error) error {
	var failure *Failure
	if l.used > 1 && n == 0 && errors.As(err, &failure) && failure.Class == Reset {
		return errStale
	}
	return err
}

// readHead reads the head of the final response, which begins at octet begin of what l kept. The head limit is below
// what a spool keeps in memory, so no disk can fail here.
func (f *Fetcher) readHead(x *Exchange, l *connection, r *Request) (resp *http.Response, begin int64, err error) {
	asked := &http.Request{Method: r.method()}
	for {
		resp, err = http.ReadResponse(l.br, asked)
		if err == nil {
			err = plausible(resp)
		}
		switch {
		case errors.Is(l.err, errBudget) || err == nil && l.consumed() > headLimit:
			x.Truncated = CutOther // not CutLength: nothing is made of a head that has no end
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

// plausible refuses what net/http lets pass: other versions, status codes that are none, and a switch of protocols
// that nobody asked for.
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
