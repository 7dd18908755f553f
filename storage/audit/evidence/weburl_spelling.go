package evidence

import (
	"strconv"
	"strings"
)

// Undotted returns a target without dot segments: "/a/../x" and "/%2E/x" name the same as "/x" (RFC 3986 6.2.2.2 and
// 6.2.2.3), and servers give that.
func Undotted(target string) string {
	path, query, asked := strings.Cut(target, "?")
	if !strings.Contains(path, ".") && !strings.Contains(path, "%2") {
		return target
	}
	var out []string
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, part := range parts {
		last := i == len(parts)-1
		switch strings.ReplaceAll(strings.ToLower(part), "%2e", ".") {
		case ".":
		case "..":
			out = out[:max(len(out)-1, 0)]
		default:
			out = append(out, part)
			last = false
		}
		if last {
			out = append(out, "")
		}
	}
	if path = "/" + strings.Join(out, "/"); asked {
		path += "?" + query
	}
	return path
}

// same reports whether two URLs, which may be written in different ways, lead to the same.
func same(a, b string) bool {
	if a == b {
		return true
	}
	p, err := ParseURL(a)
	q, err2 := ParseURL(b)
	return err == nil && err2 == nil && sameAuthority(p.Authority, q.Authority) && SameTarget(p.Target, q.Target)
}

// SameTarget reports whether two targets may be the same, written in different ways: archives have URLs before or
// after they were escaped, in the encoding of a page or in UTF-8, with dot segments or without.
func SameTarget(a, b string) bool { return a == b || unspelt(a) == unspelt(b) }

// unspelt is a target without all that differs between ways of writing it.
func unspelt(target string) string {
	target, _, _ = strings.Cut(target, "#")
	target = Undotted(strings.ReplaceAll(target, `\`, "/"))
	var b strings.Builder
	for i := 0; i < len(target); i++ {
		c := target[i]
		if c == '%' && i+2 < len(target) {
			if n, err := strconv.ParseUint(target[i+1:i+3], 16, 8); err == nil {
				c, i = byte(n), i+2
			}
		}
		if c > ' ' && c < 0x7f && c != '+' { // a blank of a query is written as +, too
			b.WriteByte(c)
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(b.String(), "?"), "/")
}

// bareName is an authority without the dot that may end a name.
func bareName(authority string) string {
	scheme, _, _ := strings.Cut(authority, "://")
	host, port := HostPort(authority)
	return scheme + "://" + strings.TrimSuffix(host, ".") + ":" + port
}

// sameAuthority reports whether two authorities are one, the dot that may end a name left aside.
func sameAuthority(a, b string) bool { return a == b || bareName(a) == bareName(b) }

// Scheme is that of an authority, with its slashes.
func Scheme(authority string) string {
	name, _, _ := strings.Cut(authority, "://")
	return name + "://"
}

// HostOf is host and port of an authority, the port left out when it is the scheme's own.
func HostOf(authority string) string {
	name, host, _ := strings.Cut(authority, "://")
	switch name {
	case "http":
		return strings.TrimSuffix(host, ":80")
	case "https":
		return strings.TrimSuffix(host, ":443")
	}
	return host
}
