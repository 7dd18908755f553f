package accesslog

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

var (
	errJSON       = errors.New("it begins like JSON, but is not JSON")
	errJSONFields = errors.New("JSON without a time, a request or a status under the names that are known")
)

// jsonNames are the names under which servers write JSON. nginx writes what its log_format names, which is mostly its
// variables (https://nginx.org/en/docs/varindex.html); Caddy writes an object "request" in the object
// (https://caddyserver.com/docs/caddyfile/directives/log).
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

// parseJSON reads a line that is a JSON object.
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
		l.combined = true // no such field is an agent that was not told
		if v, ok := heads["User-Agent"].([]any); ok && len(v) > 0 {
			l.agent, _ = v[0].(string)
		}
	}
	if l.agent == "-" {
		l.agent = ""
	}
	return l, nil
}

// jsonTime reads a time in the forms that servers write in JSON, and keeps its whole second as the other formats have
// it.
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
