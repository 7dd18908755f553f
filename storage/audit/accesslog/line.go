package accesslog

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// maxLine is the longest line of an access log that is read. Servers bound request lines and header fields at about
// 8 KiB each by default (LimitRequestLine, large_client_header_buffers), and an escaped octet takes four.
const maxLine = 128 << 10

// line is one request as a server tells of it, in the Common or the Combined Log Format, or as JSON
// (https://httpd.apache.org/docs/2.4/logs.html#accesslog, https://nginx.org/en/docs/http/ngx_http_log_module.html).
type line struct {
	vhost          string    // as written before the line by vhost_combined, with its port; empty in the other formats
	remote         string    // address or name of the client
	time           time.Time // the whole second: Apache's begins the request, nginx's ends it
	method, target string    // unescaped; empty when the request line was not one of HTTP
	cut            bool      // the request line is none, or does not end as one does
	status         int
	agent          string // unescaped
	combined       bool   // the line tells the agent, if only as "-"
}

// from reports whether the client's address lies in one of the prefixes.
func (l *line) from(prefixes []netip.Prefix) bool {
	a, err := netip.ParseAddr(l.remote)
	if err != nil {
		return false
	}
	a = a.Unmap().WithZone("")
	for _, p := range prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// timeForm is the form of a time between brackets.
const timeForm = "02/Jan/2006:15:04:05 -0700"

var (
	errTime    = errors.New("no time with its zone in brackets, as in [01/Mar/2026:12:00:00 +0000]")
	errClient  = errors.New("no client, identity and user before the time")
	errRequest = errors.New("no request in quotes after the time")
	errStatus  = errors.New("no status after the request")
	errSize    = errors.New("no size after the status")
	errLong    = fmt.Errorf("longer than %d bytes", maxLine)
)

// parseLine reads a line without its end.
func parseLine(b []byte) (line, error) {
	if len(b) > 0 && b[0] == '{' {
		return parseJSON(b)
	}
	var l line
	rest := string(b)
	before, rest, ok := l.cutTime(rest)
	if !ok {
		return line{}, errTime
	}
	if !l.client(before) {
		return line{}, errClient
	}
	request, rest, ok := cutQuoted(rest)
	if !ok {
		return line{}, errRequest
	}
	l.request(request)
	status, rest, _ := strings.Cut(strings.TrimPrefix(rest, " "), " ")
	n, err := strconv.ParseUint(status, 10, 16)
	if err != nil || len(status) != 3 {
		return line{}, errStatus
	}
	l.status = int(n)
	size, rest, _ := strings.Cut(rest, " ")
	if _, err := strconv.ParseUint(size, 10, 64); err != nil && size != "-" {
		return line{}, errSize
	}
	if _, rest, ok = cutQuoted(rest); ok { // the referer
		if l.agent, _, l.combined = cutQuoted(rest); l.agent == "-" {
			l.agent = ""
		}
	}
	return l, nil
}

// cutTime finds the first bracket that holds a time: a name of a user may hold brackets, too.
func (l *line) cutTime(s string) (before, after string, ok bool) {
	for at := 0; ; at++ {
		i := strings.IndexByte(s[at:], '[')
		if i < 0 {
			return "", "", false
		}
		at += i
		if end := at + 1 + len(timeForm); end < len(s) && s[end] == ']' {
			if t, err := time.Parse(timeForm, s[at+1:end]); err == nil {
				l.time = t.UTC()
				return s[:at], s[end+1:], true
			}
		}
	}
}

// client reads what stands before the time: the client, its identity and its user, which may hold spaces, and in the
// variant of a server with many hosts the host before them.
func (l *line) client(s string) bool {
	first, rest, ok := strings.Cut(s, " ")
	second, more, _ := strings.Cut(rest, " ")
	if !ok || first == "" || second == "" || strings.TrimSpace(more) == "" {
		return false
	}
	if _, err := netip.ParseAddr(first); err == nil || !isVhost(first, second, more) {
		l.remote = first
		return true
	}
	l.vhost, l.remote = strings.ToLower(first), second
	return true
}

// isVhost tells "host:port client identity user" from "client identity user". Behind a host stands a client: an
// address, unless the server looks names up, and then the host is known by its port and the user behind the identity.
func isVhost(first, second, more string) bool {
	if strings.Count(strings.TrimSpace(more), " ") < 1 {
		return false // three words in all
	}
	if _, err := netip.ParseAddr(second); err == nil {
		return true
	}
	i := strings.LastIndexByte(first, ':')
	if i < 0 {
		return false
	}
	_, err := strconv.ParseUint(first[i+1:], 10, 16)
	return err == nil
}

// request reads the request line. One that is none (the octets of a TLS handshake, a bare "-") leaves no target.
func (l *line) request(s string) {
	l.cut = true
	method, rest, ok := strings.Cut(s, " ")
	if !ok || method == "" {
		return
	}
	if i := strings.LastIndex(rest, " HTTP/"); i >= 0 { // absent in HTTP/0.9
		rest, l.cut = rest[:i], rest[:i] == "" || rest[:i] == "-"
	}
	if scheme, behind, ok := strings.Cut(rest, "://"); ok && !strings.ContainsAny(scheme, "/?") { // RFC 9112 3.2.2
		_, path, _ := strings.Cut(behind, "/")
		rest = "/" + path
	}
	if l.method, l.target = method, rest; rest == "" || rest == "-" { // as nginx writes a $request_uri that it could not read
		l.method, l.target = "", ""
	}
}

// cutQuoted takes a string in quotes off the beginning of s, behind spaces, and undoes its escapes.
func cutQuoted(s string) (text, after string, ok bool) {
	s = strings.TrimLeft(s, " ")
	if s == "" || s[0] != '"' {
		return "", s, false
	}
	plain := true
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			if text = s[1:i]; !plain {
				text = unescape(text)
			}
			return text, s[i+1:], true
		case '\\':
			plain = false
			i++
		}
	}
	return "", s, false
}

// unescape undoes \xHH and the escapes of C that Apache writes. Any other octet behind a backslash stands for itself.
func unescape(s string) string {
	const letters, octets = `bnrtv`, "\b\n\r\t\v"
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		if s[i] == 'x' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		if k := strings.IndexByte(letters, s[i]); k >= 0 {
			b = append(b, octets[k])
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}
