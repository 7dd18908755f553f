package accesslog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"math"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// maxLine is the longest line of an access log that is read. Servers bound request lines and header fields at about
// 8 KiB each by default (LimitRequestLine, large_client_header_buffers), and an escaped octet takes four.
const maxLine = 128 << 10

// line is one request in a server's log, in the Common or the Combined Log Format, or as JSON
// (https://httpd.apache.org/docs/2.4/logs.html#accesslog, https://nginx.org/en/docs/http/ngx_http_log_module.html).
type line struct {
	vhost          string    // as written before the line by vhost_combined, with its port; empty in the other formats
	remote         string    // address or name of the client
	time           time.Time // the whole second: Apache's begins the request, nginx's ends it
	method, target string    // unescaped; empty when the request line was not one of HTTP
	cut            bool      // the request line is invalid or incomplete
	status         int
	agent          string // unescaped
	combined       bool   // the line has the agent, if only as "-"
}

func (l *line) from(prefixes []netip.Prefix) bool {
	a, err := netip.ParseAddr(l.remote)
	if err != nil {
		return false
	}
	a = a.Unmap().WithZone("")
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
}

const timeForm = "02/Jan/2006:15:04:05 -0700"

var (
	errTime    = errors.New("no time with its zone in brackets, as in [01/Mar/2026:12:00:00 +0000]")
	errClient  = errors.New("no client, identity and user before the time")
	errRequest = errors.New("no request in quotes after the time")
	errStatus  = errors.New("no status after the request")
	errSize    = errors.New("no size after the status")
	errLong    = fmt.Errorf("longer than %d bytes", maxLine)
)

func parseLine(b []byte) (line, error) {
	if len(b) > 0 && b[0] == '{' {
		return parseJSON(b)
	}
	var l line
	before, rest, ok := l.cutTime(string(b))
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

// cutTime finds the first bracket that holds a time: a user name may also hold brackets.
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

// client reads "[host] client identity user", the text before the time. The user may hold spaces.
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

// isVhost distinguishes "host client identity user" from "client identity user": the second word is an address, or the
// first has a port.
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

// request reads the request line. An invalid one (the bytes of a TLS handshake, a bare "-") leaves no target.
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

// cutQuoted takes a string in quotes off the beginning of s, after spaces, and undoes its escapes.
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

// unescape undoes \xHH and the C escapes that Apache writes. Any other byte after a backslash is literal.
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

var (
	errJSON       = errors.New("it begins like JSON, but is not JSON")
	errJSONFields = errors.New("JSON without a time, a request or a status under the names that are known")
)

// jsonNames are the field names that servers use: nginx's variables (https://nginx.org/en/docs/varindex.html) and those of
// Caddy, partly in an object "request" (https://caddyserver.com/docs/caddyfile/directives/log).
var jsonNames = struct{ time, request, method, target, status, agent, remote, vhost []string }{
	time:    []string{"time_iso8601", "time_local", "timestamp", "@timestamp", "time", "ts", "msec"},
	request: []string{"request"},
	method:  []string{"request_method", "method"},
	target:  []string{"request_uri", "uri", "url", "path"},
	status:  []string{"status", "response_status", "status_code"},
	agent:   []string{"http_user_agent", "user_agent", "agent", "useragent"},
	remote:  []string{"remote_addr", "remote_ip", "client_ip", "remote", "clientip"},
	vhost:   []string{"host", "http_host", "server_name", "vhost"},
}

func parseJSON(b []byte) (line, error) {
	var all map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		return line{}, errJSON
	}
	inner, _ := all["request"].(map[string]any)
	text := func(names []string) (string, bool) {
		for _, from := range []map[string]any{all, inner} {
			for _, name := range names {
				switch v := from[name].(type) {
				case string:
					return v, true
				case float64:
					return strconv.FormatFloat(v, 'f', -1, 64), true
				}
			}
		}
		return "", false
	}
	var l line
	when, _ := text(jsonNames.time)
	status, _ := text(jsonNames.status)
	ok := l.jsonTime(when)
	n, err := strconv.ParseUint(status, 10, 16)
	if !ok || err != nil || len(status) != 3 {
		return line{}, errJSONFields
	}
	l.status = int(n)
	if whole, ok := text(jsonNames.request); ok {
		l.request(whole)
	} else {
		target, has := text(jsonNames.target)
		if !has {
			return line{}, errJSONFields
		}
		if l.method, _ = text(jsonNames.method); l.method == "" {
			l.method = "GET"
		}
		l.request(l.method + " " + target + " HTTP/1.1")
	}
	l.remote, _ = text(jsonNames.remote)
	l.vhost, _ = text(jsonNames.vhost)
	l.vhost = strings.ToLower(l.vhost)
	l.agent, l.combined = text(jsonNames.agent)
	if heads, ok := inner["headers"].(map[string]any); ok && !l.combined {
		l.combined = true // a missing field means that the request had no agent
		if v, ok := heads["User-Agent"].([]any); ok && len(v) > 0 {
			l.agent, _ = v[0].(string)
		}
	}
	if l.agent == "-" {
		l.agent = ""
	}
	return l, nil
}

// jsonTime reads a time of a JSON log and keeps its whole second.
func (l *line) jsonTime(s string) bool {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05Z0700", timeForm} {
		if t, err := time.Parse(form, s); err == nil {
			l.time = t.UTC().Truncate(time.Second)
			return true
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 1e14 {
		return false
	}
	if n > 1e11 { // years beyond 5000: it is milliseconds
		n /= 1000
	}
	l.time = time.Unix(int64(n), 0).UTC()
	return true
}

// Stdin is the path of the standard input.
const Stdin = "-"

// maxWindow bounds the decoder's window for a .zst file, in bytes. zstd needs 8 MiB at its highest usual level.
const maxWindow = 32 << 20

// open opens a log. It detects compression by the first bytes, under any name.
func open(path string, stdin io.Reader) (io.Reader, func() error, error) {
	raw, done := stdin, func() error { return nil }
	if path != Stdin || stdin == nil {
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		raw, done = f, f.Close
		if fi, err := f.Stat(); err == nil && fi.IsDir() {
			return nil, nil, errors.Join(errors.New("it is a folder: name the files in it"), f.Close())
		}
	}
	in := bufio.NewReaderSize(raw, maxLine)
	magic, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, nil, errors.Join(err, done())
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("its gzip header: %w", err), done())
		}
		return z, done, nil
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("zstd: %w", err), done())
		}
		return z, func() error { z.Close(); return done() }, nil
	case bytes.HasPrefix(magic, []byte("BZh")), bytes.HasPrefix(magic, []byte{0xfd, '7', 'z', 'X'}),
		bytes.HasPrefix(magic, []byte("PK\x03\x04")):
		return nil, nil, errors.Join(errors.New("it is compressed, and neither with gzip nor with zstd: unpack it "+
			"first"), done())
	}
	return in, done, nil
}

type unread struct {
	line int64 // from 1
	err  error
}

func (u *unread) Error() string { return fmt.Sprintf("line %d: %v", u.line, u.err) }
func (u *unread) Unwrap() error { return u.err }

// numbered is a line of a log with its number, from 1, and a hash of its bytes.
type numbered struct {
	line
	number int64
	sum    uint64
}

var seed = maphash.MakeSeed()

var errTorn = errors.New("the file ends within its compressed data")

// lines yields the lines of an access log. An unreadable line is an *unread, and further lines follow; any other error is
// the last. It skips empty lines and the torn end of a compressed file. maxLine bounds memory.
func lines(r io.Reader) iter.Seq2[numbered, error] {
	return func(yield func(numbered, error) bool) {
		in := bufio.NewReaderSize(r, maxLine)
		for n := int64(1); ; n++ {
			b, err := in.ReadSlice('\n')
			long := errors.Is(err, bufio.ErrBufferFull)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				yield(numbered{}, &unread{line: n, err: errTorn})
				return
			}
			if err != nil && err != io.EOF {
				yield(numbered{}, fmt.Errorf("line %d: %w", n, err))
				return
			}
			last := err == io.EOF
			if b = bytes.TrimRight(b, "\r\n"); n == 1 {
				b = bytes.TrimPrefix(b, []byte("\ufeff"))
			}
			if !long && len(b) > 0 {
				l, err := parseLine(b)
				if err != nil {
					err = &unread{n, err}
				}
				if !yield(numbered{l, n, maphash.Bytes(seed, b)}, err) {
					return
				}
			} else if long && !yield(numbered{}, &unread{line: n, err: errLong}) {
				return
			}
			if last {
				return
			}
		}
	}
}

// each reads a log: every line, and every unreadable line. If it can read none, the file is not a log.
func each(ctx context.Context, path string, stdin io.Reader, take func(numbered) error, bad func(*unread)) error {
	in, done, err := open(path, stdin)
	if err != nil {
		return err
	}
	defer done() //nolint:errcheck // nothing was written
	read, first := 0, error(nil)
	for l, err := range lines(in) {
		var u *unread
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &u):
			if first == nil {
				first = u
			}
			bad(u)
			continue
		case err != nil:
			return err
		}
		read++
		if err := take(l); err != nil {
			return err
		}
	}
	if read == 0 && first != nil {
		return fmt.Errorf("no %s: %w", formats, first)
	}
	return nil
}
