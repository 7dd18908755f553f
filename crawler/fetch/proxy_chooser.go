package fetch

import (
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"curtsy/frontier/canon"
)

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
