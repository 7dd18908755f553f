package crawltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Web is a set of Sites. Make one with New or Demo and start it once; its methods may then be called concurrently.
type Web struct {
	order   []*host
	hosts   map[string]*host // by name
	addrs   map[string]netip.Addr
	referee *Referee

	local *strings.Replacer // names to loopback ports; nil over pipes

	mu        sync.Mutex
	listeners map[string]listener // by authority; nil while the web is not serving
	servers   []*http.Server
	stop      context.CancelFunc
	serving   sync.WaitGroup // the goroutines that accept
	conns     sync.WaitGroup // the connections
	errs      []error        // of accepting
}

type listener interface {
	net.Listener
	dial(ctx context.Context) (net.Conn, error)
}

// prefix is reserved for tests of network devices (RFC 2544).
var prefix = netip.MustParsePrefix("198.18.0.0/15")

// New makes a web of sites. Change a site later with Web.Change. It panics on a name that is empty, not in lower case,
// or used twice.
func New(sites ...*Site) *Web {
	w := &Web{hosts: map[string]*host{}, addrs: map[string]netip.Addr{}}
	w.referee = &Referee{web: w, hops: map[place]bool{}}
	addr := prefix.Addr()
	for _, s := range sites {
		h := &host{web: w, name: authorityOf(s.Name), asked: map[string]int{}}
		machine, port := h.name, "80"
		if strings.Contains(machine, ":") {
			var err error
			if machine, port, err = net.SplitHostPort(machine); err != nil {
				panic(fmt.Sprintf("crawltest: site %q: %v", s.Name, err))
			}
		}
		if machine == "" || s.Name != strings.ToLower(s.Name) || w.hosts[h.name] != nil {
			panic(fmt.Sprintf("crawltest: site %q: the name is empty, not in lower case, or used twice", s.Name))
		}
		if literal, err := netip.ParseAddr(machine); err == nil {
			w.addrs[machine] = literal
		}
		if !w.addrs[machine].IsValid() {
			addr = addr.Next()
			w.addrs[machine] = addr
		}
		h.addr = net.JoinHostPort(w.addrs[machine].String(), port)
		h.set(*s)
		w.order = append(w.order, h)
		w.hosts[h.name] = h
	}
	return w
}

// Start serves each site on a port of 127.0.0.1.
func (w *Web) Start() error {
	names := make([]string, 0, 2*len(w.order))
	listeners := make(map[string]listener, len(w.order))
	for _, h := range w.order {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp4", "127.0.0.1:0")
		if err != nil {
			for _, open := range listeners {
				err = errors.Join(err, open.Close())
			}
			return fmt.Errorf("crawltest: listen for %s: %w", h.name, err)
		}
		listeners[h.name] = socketListener{l}
		_, h.port, _ = net.SplitHostPort(l.Addr().String())
		for _, end := range []string{"/", `"`} {
			names = append(names, "//"+h.name+end, "//127.0.0.1:"+h.port+end)
		}
	}
	w.local = strings.NewReplacer(names...)
	w.serve(listeners)
	return nil
}

// StartPipe serves over net.Pipe, without ports. Call it and Close inside the testing/synctest bubble. A second start
// panics.
func (w *Web) StartPipe() {
	listeners := make(map[string]listener, len(w.order))
	for _, h := range w.order {
		listeners[h.name] = &pipeListener{addr: pipeAddr(h.addr), conns: make(chan net.Conn), done: make(chan struct{})}
	}
	w.serve(listeners)
}

func (w *Web) serve(listeners map[string]listener) {
	ctx, stop := context.WithCancel(context.Background())
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		panic("crawltest: a web is started once")
	}
	w.stop, w.listeners = stop, listeners
	for _, h := range w.order {
		s := &http.Server{
			Handler:     h,
			BaseContext: func(net.Listener) context.Context { return ctx },
			ConnContext: func(ctx context.Context, c net.Conn) context.Context {
				return context.WithValue(ctx, wireKey{}, c)
			},
			ConnState:         w.count,
			ErrorLog:          log.New(io.Discard, "", 0),
			ReadHeaderTimeout: time.Minute,
			IdleTimeout:       75 * time.Second,
		}
		w.servers = append(w.servers, s)
		w.serving.Go(func() {
			if err := s.Serve(timed{listeners[h.name], w.referee}); !errors.Is(err, http.ErrServerClosed) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.errs = append(w.errs, fmt.Errorf("crawltest: serve %s: %w", h.name, err))
			}
		})
	}
}

// count tracks connections. StateNew comes from the goroutine that accepts, so that Close cannot miss it.
func (w *Web) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		w.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		w.conns.Done()
	}
}

// Close aborts all exchanges and waits for the goroutines. The log stays.
func (w *Web) Close() error {
	w.mu.Lock()
	stop, servers := w.stop, w.servers
	w.listeners, w.servers = nil, nil
	w.mu.Unlock()
	if stop == nil {
		return nil
	}
	stop()
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Close())
	}
	w.serving.Wait()
	for _, s := range servers {
		errs = append(errs, s.Close()) // connections accepted during the first Close
	}
	w.conns.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(append(errs, w.errs...)...)
}

// Change lets f change a site while the web is served. It panics if no site has that name.
func (w *Web) Change(name string, f func(*Site)) {
	h := w.hosts[authorityOf(name)]
	if h == nil {
		panic(fmt.Sprintf("crawltest: no site %q", name))
	}
	s := h.now().Site
	f(&s)
	h.set(s)
}

func (w *Web) Hosts() []string {
	names := make([]string, len(w.order))
	for i, h := range w.order {
		names[i] = h.name
	}
	return names
}

// Seeds returns the URL of each site's root.
func (w *Web) Seeds() []string {
	seeds := make([]string, len(w.order))
	for i, h := range w.order {
		seeds[i] = "http://" + h.name + "/"
	}
	return seeds
}

func (w *Web) Referee() *Referee { return w.referee }

// Net is the prefix of the web's addresses, 198.18.0.0/15. They are not public: a crawler must be configured to allow it.
func (w *Web) Net() netip.Prefix { return prefix }

// Resolve returns the address of a name. For an unknown name the error is a *net.DNSError with IsNotFound.
func (w *Web) Resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, ok := w.addrs[name]; ok {
		if h := w.hosts[name]; h != nil {
			addr = h.address(addr)
		}
		return []netip.Addr{addr}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// Dial connects to a site by its address, "198.18.0.1:80", or by its name, "bakery.test:80" (as http.Transport does).
// It is refused where no server listens, and fails as Resolve does for an unknown name.
func (w *Web) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if network != "tcp" && network != "tcp4" {
		return fail(net.UnknownNetworkError(network))
	}
	machine, port, err := net.SplitHostPort(address)
	if err != nil {
		return fail(err)
	}
	if addr, err := netip.ParseAddr(machine); err == nil {
		machine = addr.Unmap().String()
	} else {
		addrs, err := w.Resolve(ctx, machine)
		if err != nil {
			return fail(err)
		}
		machine = addrs[0].String()
	}
	l := w.listening(net.JoinHostPort(machine, port))
	if l == nil {
		return fail(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	}
	conn, err := l.dial(ctx)
	if err != nil {
		return fail(err)
	}
	return conn, nil
}

func (w *Web) listening(addr string) listener {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.order {
		if h.addr == addr && w.listeners != nil {
			return w.listeners[h.name]
		}
	}
	return nil
}

// Local returns the loopback URL of a resource; u itself if it is not in the web.
func (w *Web) Local(u string) string {
	if w.local == nil {
		return u
	}
	return w.local.Replace(u)
}

// LoopbackURL returns the loopback URL of a site's root, "http://127.0.0.1:41234/"; "" over pipes, before Start, and for
// an unknown name.
func (w *Web) LoopbackURL(host string) string {
	h := w.hosts[authorityOf(host)]
	if h == nil || h.port == "" {
		return ""
	}
	return fmt.Sprintf("http://127.0.0.1:%s/", h.port)
}

// place is a resource of the web: an authority and the Key of a target.
type place struct{ host, key string }

func (p place) String() string { return "http://" + p.host + p.key }

// Key normalizes a request target (RFC 3986 6.2.2). It drops an empty query.
func Key(target string) string {
	target, _, _ = strings.Cut(target, "#")
	if target == "" || target[0] != '/' {
		target = "/" + target
	}
	if strings.IndexByte(target, '?') == len(target)-1 {
		target = target[:len(target)-1]
	}
	return Spell(target)
}

// Spell decodes escaped unreserved bytes, writes other escapes in upper case and escapes bytes not allowed in a URI.
func Spell(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c, escaped := s[i], false
		if c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			c, escaped = nibble(s[i+1])<<4|nibble(s[i+2]), true
			i += 2
		}
		switch {
		case unreserved(c) || !escaped && c == '%' || !escaped && strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func nibble(c byte) byte {
	if c >= 'A' {
		return c&7 + 9
	}
	return c & 15
}

// resolve returns the target of a reference on a page, in the web's own names; ok is false outside the web.
func (w *Web) resolve(from place, ref string) (to place, ok bool) {
	base, err := url.Parse(from.String())
	if err != nil {
		return place{}, false
	}
	// Escape first: url.URL.EscapedPath would re-encode the whole path because of one invalid byte.
	u, err := base.Parse(Spell(strings.TrimSpace(ref)))
	if err != nil || u.Scheme != "http" {
		return place{}, false
	}
	h := w.named(u.Host)
	if h == nil {
		return place{}, false
	}
	target := u.EscapedPath()
	if u.RawQuery != "" {
		target += "?" + u.RawQuery
	}
	return place{h.name, Key(target)}, true
}

// Leads is resolve for URLs.
func (w *Web) Leads(from, ref string) (to string, ok bool) {
	at, ok := w.resolve(place{}, from)
	if !ok {
		return "", false
	}
	p, ok := w.resolve(at, ref)
	return p.String(), ok
}

// Pages returns a host's pages by key, with type, status and body filled in.
func (w *Web) Pages(host string) map[string]Page {
	pages := map[string]Page{}
	for k, l := range w.hosts[host].now().pages {
		p := l.Page
		p.Body = string(l.body)
		pages[k] = p
	}
	return pages
}

// named returns the host of an authority, by name or by port on loopback; nil for none.
func (w *Web) named(authority string) *host {
	name := authorityOf(authority)
	if h := w.hosts[name]; h != nil {
		return h
	}
	machine, port, err := net.SplitHostPort(name)
	if err != nil || machine != "127.0.0.1" && machine != "localhost" {
		return nil
	}
	for _, h := range w.order {
		if port == h.port {
			return h
		}
	}
	return nil
}

func authorityOf(s string) string { return strings.TrimSuffix(strings.ToLower(s), ":80") }

type socketListener struct{ net.Listener }

func (l socketListener) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp4", l.Addr().String())
}

// pipeListener blocks only on channels, which is durable in a testing/synctest bubble.
type pipeListener struct {
	addr  pipeAddr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.done:
		return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return l.addr }

type pipeAddr string

func (pipeAddr) Network() string  { return "pipe" }
func (a pipeAddr) String() string { return string(a) }

// timed is a listener whose connections report to the referee.
type timed struct {
	listener
	referee *Referee
}

func (t timed) Accept() (net.Conn, error) {
	c, err := t.listener.Accept()
	if err != nil {
		return nil, err
	}
	return &wire{Conn: c, referee: t.referee}, nil
}

// wire is the server's end of a connection. The referee's mutex guards what is below Conn.
type wire struct {
	net.Conn
	referee *Referee

	arrived time.Time // of the first byte since the last request; zero when none came
	latest  time.Time // of the latest byte
	taken   *Exchange // the request that bytes written belong to; nil before the first
}

func (c *wire) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.referee.arrived(c, time.Now())
	}
	return n, err
}

// Write records the time first: the client cannot have had the bytes earlier.
func (c *wire) Write(p []byte) (int, error) {
	x, wrote, ended := c.referee.wrote(c, time.Now())
	n, err := c.Conn.Write(p)
	if n == 0 && err != nil {
		c.referee.unwrote(x, wrote, ended)
	}
	return n, err
}

type wireKey struct{}
