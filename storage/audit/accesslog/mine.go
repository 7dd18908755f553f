package accesslog

import (
	"strings"
	"time"
)

// line takes a line of h's log.
func (c *Comparison) line(h *hostLog, file int, l numbered) error {
	h.Lines++
	if h.First.IsZero() || l.time.Before(h.First) {
		h.First = l.time
	}
	if l.time.After(h.Last) {
		h.Last = l.time
	}
	at := l.time.UnixMicro()
	c.files[file].line(at)
	if !l.combined {
		h.Agentless = true
	}
	mine, alike := c.mine(&l.line)
	if !h.isNamed(l.vhost) || !mine {
		h.Others++
		return nil
	}
	if h.Exchanges == 0 || l.time.Before(h.began.Add(-c.o.Skew-time.Second)) || l.time.After(h.ended.Add(c.o.Skew+unknownTook)) {
		h.Outside++
		return nil
	}
	h.Ours++
	return c.add(c.all, &entry{
		key: keyOf(h.Host, l.method, l.target), status: uint16(l.status), from: at, until: at, number: l.number, log: uint16(file),
		logged: true, vague: c.vague(&l.line), alike: alike, text: lineText(h.Host, &l),
	})
}

// isNamed reports whether a line that names its host is of h.
func (h *hostLog) isNamed(vhost string) bool {
	host := h.Host
	if host == "" && len(h.names) == 1 {
		host = h.names[0]
	}
	return vhost == "" || host == "" || host == vhost || host == bare(vhost)
}

// bare is a host without its port.
func bare(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host[:i]
	}
	return host
}

// mine reports whether a line is, or may be, the crawler's; alike, whether that is known by no more than the product it
// names, which others may use.
func (c *Comparison) mine(l *line) (mine, alike bool) {
	if l.from(c.o.From) || c.vague(l) || l.combined && c.agents[l.agent] && len(c.o.Tokens) == 0 {
		return true, false
	}
	for token := range c.tokens {
		if namesProduct(l.agent, token) {
			return true, len(c.o.Tokens) == 0
		}
	}
	return false, false
}

// vague reports whether nothing tells whose line it is: the log has no agents, or this line has none, as when the server
// refused the request before it read the header fields (nginx answers so to a stray %). It then counts as the crawler's
// if it fits an exchange.
func (c *Comparison) vague(l *line) bool { return l.agent == "" && len(c.o.From) == 0 }

// unheard reports whether a server may have answered with this status before it read the header fields: a bad request
// line, one that did not come, one that is too long, and fields that are too large (494 is nginx's own).
func unheard(status int) bool {
	switch status {
	case 400, 408, 414, 431, 494:
		return true
	}
	return false
}

// namesProduct reports whether a User-Agent names a product (RFC 9110 10.1.5), in any case of letters.
func namesProduct(agent, token string) bool {
	agent, token = strings.ToLower(agent), strings.ToLower(token)
	part := func(c byte) bool { return 'a' <= c && c <= 'z' || c == '-' || c == '_' }
	for at := 0; token != ""; at++ {
		i := strings.Index(agent[at:], token)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(token)
		if (at == 0 || !part(agent[at-1])) && (end == len(agent) || !part(agent[end])) {
			return true
		}
	}
	return false
}
