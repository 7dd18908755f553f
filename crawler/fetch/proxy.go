package fetch

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
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
