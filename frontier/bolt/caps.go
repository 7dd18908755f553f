package bolt

import (
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// domain counts the URLs of a registrable domain that became tasks, for the cap on them. Without one there is none.
type domain struct {
	urls int64
}

// domain returns the domain of a, nil when no cap asks for it. The caller holds mu.
func (f *Frontier) domain(a canon.Authority) *domain {
	if f.options.MaxURLsPerDomain == 0 {
		return nil
	}
	name := a.RegistrableDomain()
	d := f.domains[name]
	if d == nil {
		d = &domain{}
		f.domains[name] = d
	}
	return d
}

// capped returns the reason why a cap leaves no room for c, empty when there is room. The caps are asked in the order of
// frontier.CapReasons. The caller holds mu, and calls gauge when it is through.
func (f *Frontier) capped(c *frontier.Candidate) string {
	o := &f.options
	if o.MaxSize > 0 && f.octets()+textOctets(c) > o.MaxSize-reserve(o.MaxSize)/2 {
		f.full = true // from now on the crawl would lose what it finds
		return frontier.ReasonCapSize
	}
	if o.MaxURLs > 0 && f.accepted >= o.MaxURLs {
		return frontier.ReasonCapCrawl
	}
	if o.MaxURLsPerDomain == 0 && o.MaxURLsPerAuthority == 0 {
		return ""
	}
	h := f.byName[c.URL.Authority()]
	if f.domainFull(h, c) {
		return frontier.ReasonCapDomain
	}
	if n := o.MaxURLsPerAuthority; n > 0 && h != nil && int64(h.accepted()) >= n {
		return frontier.ReasonCapHost
	}
	return ""
}

// domainFull reports whether the registrable domain of c, a candidate of h unless its host is unknown, takes no more.
func (f *Frontier) domainFull(h *host, c *frontier.Candidate) bool {
	n := f.options.MaxURLsPerDomain
	switch {
	case n == 0:
		return false
	case h != nil:
		return h.domain.urls >= n
	}
	d := f.domains[c.URL.Authority().RegistrableDomain()]
	return d != nil && d.urls >= n
}
