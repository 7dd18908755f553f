package fetch

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"curtsy/frontier/canon"
)

// The schemes of a proxy's URL.
const (
	proxyHTTP = "http"
	https     = "https"
	sockS5    = "socks5"  // the name of the target is looked up here
	sockS5H   = "socks5h" // the proxy looks it up
)

// proxy is where a proxy is, and who we are to it.
type proxy struct {
	scheme, host, port string
	user, password     string
	named              bool // there is a user
}

// Parse reads the URL of a proxy. Its error does not quote what may be a password.
func Parse(raw string) (*proxy, error) {
	const how = "write the URL of a proxy, like http://proxy.your-domain.org:3128; its scheme is http, https, socks5 or socks5h"
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return nil, errors.New("not a URL; " + how) // err would quote it
	}
	usual := map[string]string{proxyHTTP: "80", https: "443", sockS5: "1080", sockS5H: "1080"}
	p := &proxy{scheme: strings.ToLower(u.Scheme), host: strings.ToLower(u.Hostname()), port: u.Port()}
	if usual[p.scheme] == "" || u.Opaque != "" {
		return nil, errors.New("a proxy of this scheme cannot be used; " + how)
	}
	if p.port == "" {
		p.port = usual[p.scheme]
	}
	switch n, err := strconv.ParseUint(p.port, 10, 16); {
	case p.host == "" || strings.ContainsFunc(p.host, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, errors.New("the proxy's host is missing, or not an ASCII name; " + how)
	case err != nil || n == 0:
		return nil, errors.New("the proxy's port is invalid; " + how)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("a proxy has no path; " + how)
	}
	if u.User != nil {
		p.user, p.named = u.User.Username(), true
		p.password, _ = u.User.Password()
		if err := p.credentials(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// credentials reports what of user and password cannot be sent.
func (p *proxy) credentials() error {
	switch {
	case strings.Contains(p.scheme, sockS5) && (p.user == "" || len(p.user) > 255 || p.password == "" || len(p.password) > 255):
		return errors.New("user and password of a SOCKS proxy have 1 to 255 bytes each (RFC 1929)")
	case strings.Contains(p.user, ":"):
		return errors.New("the user of an HTTP proxy has no colon (RFC 7617)")
	case len(p.user)+len(p.password) > 4<<10:
		return errors.New("user and password of the proxy are too long")
	}
	return nil
}

// String is the URL of the proxy without user and password.
func (p *proxy) String() string { return p.scheme + "://" + p.Address() }

// HasCredentials reports whether there is a user.
func (p *proxy) HasCredentials() bool { return p.named }

// Secrets are what must stand nowhere: the password, and what is sent of it.
func (p *proxy) Secrets() (all []string) {
	if p.named && p.password != "" {
		all = append(all, p.password, p.basic())
	}
	return all
}

// Host is the proxy's host, and Addr its address where it is written as one.
func (p *proxy) Host() string { return p.host }

// Addr is the address of the proxy, where its URL has that and no name.
func (p *proxy) Addr() (netip.Addr, bool) {
	a, err := netip.ParseAddr(p.host)
	return a, err == nil
}

// Port is the proxy's port.
func (p *proxy) Port() uint16 {
	n, _ := strconv.ParseUint(p.port, 10, 16) // Parse has seen to it
	return uint16(n)
}

// Address is host and port.
func (p *proxy) Address() string { return net.JoinHostPort(p.host, p.port) }

// TLS reports whether the proxy itself is spoken to in TLS.
func (p *proxy) TLS() bool { return p.scheme == https }

// Blind reports whether the proxy looks names up, so that nobody here knows the address of a target.
func (p *proxy) Blind() bool { return p.scheme != sockS5 }

// Forwards reports whether requests for http URLs are sent to the proxy itself, with the whole URL (RFC 9112 3.2.2).
func (p *proxy) Forwards() bool { return p.scheme == proxyHTTP || p.scheme == https }

// Authorization is the line that tells an HTTP proxy who we are; empty without a user. It is for the proxy alone.
func (p *proxy) Authorization() string {
	if !p.named || !p.Forwards() {
		return ""
	}
	return "Proxy-Authorization: Basic " + p.basic() + "\r\n"
}

func (p *proxy) basic() string {
	return base64.StdEncoding.EncodeToString([]byte(p.user + ":" + p.password))
}

// Kind says whom a Fault is to be blamed on.
type Kind uint8

// The kinds.
const (
	Down Kind = iota // the proxy cannot be used, whatever the target
	Odd              // it behaves as no proxy should: it may be the proxy, or what it makes of this target
	Said             // it says that it does not lead to this target
)

// Fault is why no connection to the target came about.
type Fault struct {
	Kind  Kind
	Proxy string // without user and password
	Err   error
}

func (f *Fault) Error() string { return "the proxy " + f.Proxy + ": " + f.Err.Error() }

func (f *Fault) Unwrap() error { return f.Err }

// Fault makes one of this proxy.
func (p *proxy) Fault(k Kind, err error) *Fault { return &Fault{k, p.String(), err} }

func (p *proxy) fault(k Kind, format string, args ...any) error {
	return p.Fault(k, fmt.Errorf(format, args...))
}

// Chooser says which proxy leads to a host. A nil one, and the zero value, know of none.
type Chooser struct {
	all *proxy // leads to all hosts

	// From the environment.
	proxies map[string]*proxy // by the scheme of the target
	of      func(*url.URL) (*url.URL, error)
	without string
}

// Always has one proxy lead to all hosts.
func Always(p *proxy) *Chooser { return &Chooser{all: p} }

// FromEnvironment is what the environment says: http_proxy, https_proxy and no_proxy, in either case, as most programs read
// them. Hosts of this machine are reached without a proxy.
func FromEnvironment(lookup func(string) string) (*Chooser, error) {
	value := func(name string) string {
		if v := lookup(name); v != "" {
			return v
		}
		return lookup(strings.ToUpper(name))
	}
	c := &Chooser{proxies: map[string]*proxy{}, without: value("no_proxy")}
	env := httpproxy.Config{NoProxy: c.without}
	for scheme, at := range map[string]*string{"http": &env.HTTPProxy, "https": &env.HTTPSProxy} {
		raw := value(scheme + "_proxy")
		if raw == "" {
			continue
		}
		if !strings.Contains(raw, "://") {
			raw = "http://" + raw // as others read it
		}
		p, err := Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("the environment variable %s_proxy: %w", scheme, err)
		}
		c.proxies[scheme], *at = p, p.String()
	}
	c.of = env.ProxyFunc()
	return c, nil
}

// For is the proxy that leads to a; nil for none.
func (c *Chooser) For(a canon.Authority) *proxy {
	switch {
	case c == nil:
		return nil
	case c.all != nil || c.of == nil:
		return c.all
	}
	u, err := c.of(&url.URL{Scheme: a.Scheme(), Host: a.HostPort(), Path: "/"})
	if u == nil || err != nil { // an error is one of a proxy that Parse has refused
		return nil
	}
	return c.proxies[a.Scheme()]
}

// Proxies are all that may be used, by the scheme of their targets; that of "" leads to all.
func (c *Chooser) Proxies() map[string]*proxy {
	switch {
	case c == nil:
		return nil
	case c.all != nil:
		return map[string]*proxy{"": c.all}
	}
	return c.proxies
}

const (
	maxHead         = 16 << 10 // octets of the proxy's answers to CONNECT
	proxyMaxInterim = 4        // answers that only announce one
)

// Tunnel has the proxy lead conn to target, "host:port", on behalf of agent. The error is a *Fault. conn is at the first
// octet of the target then.
func (p *proxy) Tunnel(conn net.Conn, target, agent string) error {
	if p.Forwards() {
		return p.connect(conn, target, agent)
	}
	return p.socks(conn, target)
}

// connect is Tunnel over an HTTP proxy.
func (p *proxy) connect(conn net.Conn, target, agent string) error {
	head := "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\nUser-Agent: " + agent + "\r\n" + p.Authorization() + "\r\n"
	if _, err := io.WriteString(conn, head); err != nil {
		return p.cut(err)
	}
	noted := &ending{Reader: conn}
	from := &io.LimitedReader{R: noted, N: maxHead}
	br := bufio.NewReader(from)
	for range proxyMaxInterim {
		// A body is none of ours, and its Close would read on to the end.
		resp, err := http.ReadResponse(br, nil) //nolint:bodyclose // see above
		switch {
		case err != nil && from.N <= 0:
			return p.fault(Odd, "the header of its response to CONNECT is over %d bytes", maxHead)
		case err != nil && noted.err != nil:
			return p.cut(noted.err) // the parser takes what came of a line for the whole
		case err != nil:
			return p.cut(err)
		case resp.StatusCode == http.StatusSwitchingProtocols || resp.StatusCode < 100:
			return p.fault(Odd, "it answered CONNECT with status %d", resp.StatusCode)
		case resp.StatusCode < 200:
			continue
		}
		if err := p.tells(resp.StatusCode); err != nil {
			return err
		}
		if br.Buffered() > 0 {
			return p.fault(Odd, "it sent bytes that are not the target's")
		}
		return nil
	}
	return p.fault(Odd, "it announced an answer to CONNECT again and again")
}

// ending notes how reading ended.
type ending struct {
	io.Reader
	err error
}

func (e *ending) Read(p []byte) (n int, err error) {
	n, e.err = e.Reader.Read(p)
	return n, e.err
}

// tells is what a status in answer to CONNECT means.
func (p *proxy) tells(status int) error {
	switch {
	case status >= 200 && status <= 299:
		return nil
	case status == http.StatusProxyAuthRequired && p.named:
		return p.fault(Down, "it does not accept your user and password (407)")
	case status == http.StatusProxyAuthRequired:
		return p.fault(Down, "it wants a user and a password (407)")
	case status >= 500 && status != http.StatusNotImplemented, status == 401, status == 403, status == 404, status == 408,
		status == 410, status == 421, status == 429, status == 451:
		return p.fault(Said, "it does not lead there: status %d", status)
	}
	return p.fault(Odd, "it answered CONNECT with status %d, which no proxy of https does", status)
}

// cut is why reading or writing ended. Where the proxy sent something that makes no sense, what it sent is not repeated.
func (p *proxy) cut(err error) error {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return p.fault(Odd, "no whole answer in time")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return p.fault(Odd, "it closed the connection without an answer")
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return p.fault(Odd, "%w", err)
	}
	return p.fault(Odd, "its response is not that of a proxy")
}

// The octets of SOCKS 5 (RFC 1928, RFC 1929).
const (
	version    = 5
	byNobody   = 0    // method: no authentication
	byPassword = 2    // method: user and password
	noMethod   = 0xff // none of those that were offered
	signIn     = 1    // version of RFC 1929
	connectTo  = 1
	kindIPv4   = 1
	kindName   = 3
	kindIPv6   = 4
)

// socks is Tunnel over a SOCKS proxy. target has an address where the name was looked up here, else a name.
func (p *proxy) socks(conn net.Conn, target string) error {
	method := byte(byNobody)
	if p.named {
		method = byPassword
	}
	got, err := p.exchange(conn, []byte{version, 1, method}, 2)
	switch {
	case err != nil:
		return err
	case got[0] != version:
		return p.fault(Odd, "it does not speak SOCKS 5")
	case got[1] == noMethod && p.named:
		return p.fault(Down, "it takes no user and password")
	case got[1] == noMethod:
		return p.fault(Down, "it wants a user and a password")
	case got[1] != method:
		return p.fault(Odd, "it chose a way to sign in that was not offered")
	}
	if p.named {
		b := append([]byte{signIn, byte(len(p.user))}, p.user...)
		b = append(append(b, byte(len(p.password))), p.password...)
		if got, err = p.exchange(conn, b, 2); err != nil {
			return err
		}
		if got[1] != 0 {
			return p.fault(Down, "it does not accept your user and password")
		}
	}
	ask, err := proxyRequest(target)
	if err != nil {
		return err
	}
	if got, err = p.exchange(conn, ask, 4); err != nil {
		return err
	}
	if got[0] != version {
		return p.fault(Odd, "it does not speak SOCKS 5")
	}
	if got[1] != 0 {
		return p.fault(kindOfReply(got[1]), "it does not lead there: %s", replyOf(got[1]))
	}
	return p.skipBound(conn, got[3])
}

// exchange sends octets and reads so many.
func (p *proxy) exchange(conn net.Conn, b []byte, answer int) ([]byte, error) {
	if _, err := conn.Write(b); err != nil {
		return nil, p.cut(err)
	}
	got := make([]byte, answer)
	if _, err := io.ReadFull(conn, got); err != nil {
		return nil, p.cut(err)
	}
	return got, nil
}

// proxyRequest asks for a connection to target.
func proxyRequest(target string) ([]byte, error) {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, fmt.Errorf("socks: %w", err)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("socks: %w", err)
	}
	b := []byte{version, connectTo, 0}
	switch addr, err := netip.ParseAddr(host); {
	case err != nil && len(host) > 255:
		return nil, fmt.Errorf("socks: the name of the host has %d bytes", len(host))
	case err != nil:
		b = append(append(b, kindName, byte(len(host))), host...)
	case addr.Is4():
		b = append(append(b, kindIPv4), addr.AsSlice()...)
	default:
		b = append(append(b, kindIPv6), addr.WithZone("").AsSlice()...)
	}
	return binary.BigEndian.AppendUint16(b, uint16(n)), nil
}

// skipBound reads the rest of a reply: from where the proxy connects, which is of no use.
func (p *proxy) skipBound(conn net.Conn, kind byte) error {
	size := map[byte]int{kindIPv4: 4, kindIPv6: 16}[kind]
	if kind == kindName {
		var n [1]byte
		if _, err := io.ReadFull(conn, n[:]); err != nil {
			return p.cut(err)
		}
		size = int(n[0])
	} else if size == 0 {
		return p.fault(Odd, "it does not speak SOCKS 5")
	}
	if _, err := io.ReadFull(conn, make([]byte, size+2)); err != nil {
		return p.cut(err)
	}
	return nil
}

// kindOfReply says whom a reply blames: one that the proxy does not know what it was asked for is no target's fault.
func kindOfReply(code byte) Kind {
	if code >= 1 && code <= 6 {
		return Said
	}
	return Odd
}

func replyOf(code byte) string {
	replies := []string{"", "general failure", "not allowed", "network unreachable", "host unreachable",
		"connection refused", "it took too long", "command not supported", "kind of address not supported"}
	if int(code) < len(replies) {
		return replies[code]
	}
	return "reply " + strconv.Itoa(int(code))
}
