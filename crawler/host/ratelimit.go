package host

import (
	"net/http"
	"strings"
	"time"
)

// RateLimit is what a RateLimit field asks for (draft-ietf-httpapi-ratelimit-headers, politeness rule 14). The zero value
// asks for nothing.
type RateLimit struct {
	Given bool
	Wait  time.Duration // nothing may be asked for so long: a quota is used up
	Space time.Duration // between two exchanges, so that a quota lasts until it is filled again
	Until time.Duration // how long space holds
}

// ReadRateLimit reads the RateLimit field: a list of quotas, each a string with the parameters r, what is left of it, and
// t, the seconds until it is filled again. The draft has servers send structured fields (RFC 9651); one that is
// malformed anywhere is ignored whole, as section 4.2 there asks for. A quota without r or t says nothing. Like
// Retry-After one of over a year asks for a day. Of several quotas each must be kept, so the longest times hold.
func ReadRateLimit(h http.Header) RateLimit {
	quotas, ok := readQuotas(strings.Join(h.Values("RateLimit"), ","))
	if !ok {
		return RateLimit{}
	}
	var l RateLimit
	for _, q := range quotas {
		if !q.hasLeft || !q.hasReset {
			continue
		}
		l.Given = true
		reset := Day
		if q.reset <= int64(LongestAfter/time.Second) {
			reset = time.Duration(q.reset) * time.Second
		}
		if q.left == 0 {
			l.Wait = max(l.Wait, reset)
			continue
		}
		left := time.Duration(q.left)
		space := reset / left
		if reset%left > 0 {
			space++ // never shorter than t/r
		}
		if space > 0 {
			l.Space, l.Until = max(l.Space, space), max(l.Until, reset)
		}
	}
	return l
}

// limit keeps what a RateLimit field asks for, until its quota is filled again or another field comes.
func (n *State) limit(l RateLimit, now int64) {
	if !l.Given {
		return
	}
	n.Spaced, n.SpacedUntil = uint64((l.Space+time.Microsecond-1)/time.Microsecond), now+l.Until.Microseconds()
}

// Spacing is the pause that RateLimit asks for now, in microseconds of the steady clock.
func (n *State) Spacing(now int64) time.Duration {
	if now >= n.SpacedUntil || n.Spaced > uint64(LongestAfter/time.Microsecond) {
		return 0
	}
	return time.Duration(n.Spaced) * time.Microsecond
}

// quota is an item of the field.
type quota struct {
	left, reset       int64
	hasLeft, hasReset bool
}

// readQuotas parses a list of strings with parameters (RFC 9651 4.2). It is stricter than the grammar in one point:
// an inner list, or an item that is no string, is malformed, since RateLimit has neither.
func readQuotas(field string) (all []quota, ok bool) {
	p := fieldReader{rest: strings.Trim(field, " ")}
	if p.rest == "" {
		return nil, true
	}
	for {
		q, ok := p.quota()
		if !ok {
			return nil, false
		}
		all = append(all, q)
		p.skip(" \t")
		if p.rest == "" {
			return all, true
		}
		if !p.take(',') {
			return nil, false
		}
		if p.skip(" \t"); p.rest == "" {
			return nil, false // a comma at the end
		}
	}
}

// fieldReader takes a structured field from its beginning.
type fieldReader struct{ rest string }

func (p *fieldReader) skip(chars string) { p.rest = strings.TrimLeft(p.rest, chars) }

func (p *fieldReader) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// while takes the longest beginning whose octets all are ok.
func (p *fieldReader) while(ok func(c byte) bool) string {
	i := 0
	for i < len(p.rest) && ok(p.rest[i]) {
		i++
	}
	s := p.rest[:i]
	p.rest = p.rest[i:]
	return s
}

func (p *fieldReader) quota() (q quota, ok bool) {
	if !p.quoted() {
		return q, false
	}
	for p.take(';') {
		p.skip(" ")
		if p.rest == "" || !lower(p.rest[0]) && p.rest[0] != '*' {
			return q, false
		}
		key := p.while(func(c byte) bool { return lower(c) || digit(c) || strings.IndexByte("_-.*", c) >= 0 })
		number, whole := int64(0), false
		if p.take('=') {
			if number, whole, ok = p.bare(); !ok {
				return q, false
			}
		}
		switch key {
		case "r", "t":
			if !whole || number < 0 {
				return q, false
			}
			if key == "r" {
				q.left, q.hasLeft = number, true
			} else {
				q.reset, q.hasReset = number, true
			}
		}
	}
	return q, true
}

// quoted takes a string (RFC 9651 4.2.5).
func (p *fieldReader) quoted() bool {
	if !p.take('"') {
		return false
	}
	for p.rest != "" {
		c := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case c == '"':
			return true
		case c == '\\':
			if !p.take('"') && !p.take('\\') {
				return false
			}
		case c < ' ' || c > '~':
			return false
		}
	}
	return false
}

// bare takes a parameter's value, of any type, and says which number it is if it is a whole one.
func (p *fieldReader) bare() (number int64, whole, ok bool) {
	if p.rest == "" {
		return 0, false, false
	}
	switch c := p.rest[0]; {
	case c == '"':
		return 0, false, p.quoted()
	case c == '?':
		p.rest = p.rest[1:]
		return 0, false, p.take('0') || p.take('1')
	case c == ':':
		p.rest = p.rest[1:]
		p.while(func(c byte) bool { return alpha(c) || digit(c) || strings.IndexByte("+/=", c) >= 0 })
		return 0, false, p.take(':')
	case alpha(c) || c == '*':
		p.while(func(c byte) bool {
			return alpha(c) || digit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
		})
		return 0, false, true
	}
	return p.number()
}

// number takes an integer of at most 15 digits or a decimal of at most 12 and 3 (RFC 9651 4.2.4).
func (p *fieldReader) number() (n int64, whole, ok bool) {
	negative := p.take('-')
	digits := p.while(digit)
	if digits == "" || len(digits) > 15 {
		return 0, false, false
	}
	if p.take('.') {
		fraction := p.while(digit)
		return 0, false, len(digits) <= 12 && len(fraction) >= 1 && len(fraction) <= 3
	}
	for _, d := range []byte(digits) {
		n = n*10 + int64(d-'0')
	}
	if negative {
		n = -n
	}
	return n, true, true
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
func lower(c byte) bool { return c >= 'a' && c <= 'z' }
func alpha(c byte) bool { return lower(c | 0x20) }
