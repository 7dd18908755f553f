package accesslog

import (
	"strings"
	"time"
)

// line takes a line of a file of a log.
func (c *Comparison) line(log, file int, l numbered) error {
	h := c.logs[log]
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
	if l.agent == "" && unheard(l.status) { // nor has the server read for which host it is
		l.vhost = ""
	}
	known := l.vhost == "" || h.name(l.vhost)
	mine, alike := c.mine(&l.line)
	if !mine {
		h.Others++
		return nil
	}
	if h.Exchanges == 0 || l.time.Before(h.began.Add(-c.o.Skew-time.Second)) ||
		l.time.After(h.ended.Add(c.o.Skew+unknownTook)) {
		if known {
			h.Outside++
		} else {
			h.Others++
		}
		return nil
	}
	h.Ours++
	return c.add(c.all, &entry{
		key: keyOf(log, l.method, l.target), of: log, status: uint16(l.status), from: at, until: at, number: l.number,
		log:      uint16(file),
		earliest: at, latest: at, logged: true, cut: l.cut, vague: c.vague(&l.line) || !known, alien: !known,
		alike: alike, text: lineText(&l),
	})
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

// vague reports whether nothing tells whose line it is: the log has no agents, or this line has none, as when the
// server refused the request before it read the header fields (nginx answers so to a stray %). It then counts as the
// crawler's if it fits an exchange.
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
