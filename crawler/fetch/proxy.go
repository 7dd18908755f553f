package fetch

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpproxy"
	socks "golang.org/x/net/proxy"

	"curtsy/frontier/canon"
)

// The schemes of a proxy's URL.
const (
	proxyHTTP = "http"
	https     = "https"
	sockS5    = "socks5"  // the crawler looks up the target
	sockS5H   = "socks5h" // the proxy looks it up
)

type proxy struct {
	scheme, host, port string
	user, password     string
	named              bool // has a user
}

// Parse parses the URL of a proxy. Its error quotes no possible password.
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

// credentials returns an error if user and password cannot be sent.
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

// String returns the URL of the proxy without user and password.
func (p *proxy) String() string { return p.scheme + "://" + p.Address() }

// HasCredentials reports whether there is a user.
func (p *proxy) HasCredentials() bool { return p.named }

// Address returns host and port.
func (p *proxy) Address() string { return net.JoinHostPort(p.host, p.port) }

// Blind reports whether the proxy looks names up, so that the crawler does not know the address of a target.
func (p *proxy) Blind() bool { return p.scheme != sockS5 }

// Forwards reports whether the proxy takes requests for http URLs, with the whole URL (RFC 9112 3.2.2).
func (p *proxy) Forwards() bool { return p.scheme == proxyHTTP || p.scheme == https }

// Authorization returns the credentials line for an HTTP proxy; empty without a user.
func (p *proxy) Authorization() string {
	if !p.named || !p.Forwards() {
		return ""
	}
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password)) + "\r\n"
}

// Kind is the party at fault.
type Kind uint8

// The kinds.
const (
	Down Kind = iota // the proxy is unusable for every target
	Odd              // the proxy misbehaves, perhaps only for this target
	Said             // the proxy refuses this target
)

// Fault is the reason why a proxy made no connection to the target.
type Fault struct {
	Kind  Kind
	Proxy string // without user and password
	Err   error
}

func (f *Fault) Error() string { return "the proxy " + f.Proxy + ": " + f.Err.Error() }

func (f *Fault) Unwrap() error { return f.Err }

// Fault returns a Fault of this proxy.
func (p *proxy) Fault(k Kind, err error) *Fault { return &Fault{k, p.String(), err} }

func (p *proxy) fault(k Kind, format string, args ...any) error {
	return p.Fault(k, fmt.Errorf(format, args...))
}

// Chooser chooses the proxy for a host. Nil and the zero value choose no proxy.
type Chooser struct {
	all *proxy // for all hosts

	// From the environment.
	proxies map[string]*proxy // by the scheme of the target
	of      func(*url.URL) (*url.URL, error)
	without string
}

// Always chooses p for all hosts.
func Always(p *proxy) *Chooser { return &Chooser{all: p} }

// FromEnvironment chooses by http_proxy, https_proxy and no_proxy, in either case, as most programs do. Hosts of this
// machine need no proxy.
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
			raw = "http://" + raw // as other programs do
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

// For returns the proxy for a; nil for none.
func (c *Chooser) For(a canon.Authority) *proxy {
	switch {
	case c == nil:
		return nil
	case c.all != nil || c.of == nil:
		return c.all
	}
	u, err := c.of(&url.URL{Scheme: a.Scheme(), Host: a.HostPort(), Path: "/"})
	if u == nil || err != nil { // an error is one of a proxy URL, which Parse has accepted
		return nil
	}
	return c.proxies[a.Scheme()]
}

// Proxies returns all proxies by the scheme of their targets; "" is for all.
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
	maxHead         = 16 << 10 // bytes of the proxy's responses to CONNECT
	proxyMaxInterim = 4        // interim responses to CONNECT
)

// Tunnel connects conn through the proxy to target, "host:port". The error is a *Fault.
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
		resp, err := http.ReadResponse(br, nil) //nolint:bodyclose // Close would read on to the end
		switch {
		case err != nil && from.N <= 0:
			return p.fault(Odd, "the header of its response to CONNECT is over %d bytes", maxHead)
		case err != nil && noted.err != nil:
			return p.cut(noted.err) // the parser accepts an incomplete line
		case err != nil:
			return p.cut(err)
		case resp.StatusCode == http.StatusSwitchingProtocols || resp.StatusCode < 100:
			return p.fault(Odd, "it answered CONNECT with status %d", resp.StatusCode)
		case resp.StatusCode < 200:
			continue
		}
		if err := p.interpret(resp.StatusCode); err != nil {
			return err
		}
		if br.Buffered() > 0 {
			return p.fault(Odd, "it sent bytes that are not the target's")
		}
		return nil
	}
	return p.fault(Odd, "it announced an answer to CONNECT again and again")
}

// ending records how reading ended.
type ending struct {
	io.Reader
	err error
}

func (e *ending) Read(p []byte) (n int, err error) {
	n, e.err = e.Reader.Read(p)
	return n, e.err
}

// interpret returns the error for the status of a response to CONNECT.
func (p *proxy) interpret(status int) error {
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

// cut returns why reading or writing ended, without quoting the proxy.
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

// socks is Tunnel over a SOCKS proxy (RFC 1928, RFC 1929).
func (p *proxy) socks(conn net.Conn, target string) error {
	var user *socks.Auth
	if p.named {
		user = &socks.Auth{User: p.user, Password: p.password}
	}
	d, err := socks.SOCKS5("tcp", p.Address(), user, dialed{conn})
	if err == nil {
		_, err = d.Dial("tcp", target)
	}
	var timeout net.Error
	switch text := fmt.Sprint(err); {
	case err == nil:
		return nil
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return p.cut(err)
	case strings.HasSuffix(text, "no acceptable authentication methods"):
		return p.fault(Down, "it refuses every way to sign in that you allow: give it a user and a password, or none")
	case strings.HasSuffix(text, "username/password authentication failed"):
		return p.fault(Down, "it does not accept your user and password")
	case !targetReply.MatchString(text):
		return p.fault(Odd, "it does not speak SOCKS 5 as it should: %w", err)
	default:
		return p.fault(Said, "it does not lead there: %s", targetReply.FindStringSubmatch(text)[1])
	}
}

// targetReply matches the replies 1 to 6 of RFC 1928, which are about the target; others are about the request.
var targetReply = regexp.MustCompile(`unknown error (general SOCKS server failure|connection not allowed by ruleset|network unreachable|` +
	`host unreachable|connection refused|TTL expired)$`)

// dialed is a dialer that returns an existing connection.
type dialed struct{ net.Conn }

func (d dialed) Dial(string, string) (net.Conn, error) { return d.Conn, nil }
