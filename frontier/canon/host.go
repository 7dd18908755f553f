package canon

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// MaxHost is the longest host in bytes: a domain name of 255 bytes in a DNS message (RFC 1035 2.3.4) written with dots.
const MaxHost = 253

// maxHostInput is the longest accepted spelling of a domain. Escaped UTF-8 takes up to nine bytes where its A-label
// takes two or three. The limit also bounds the work of Punycode, which is quadratic in a label.
const maxHostInput = 1024

// appendSite appends host and port (host state and port state). The default port is dropped.
func appendSite(b []byte, scheme, site string) ([]byte, *Error) {
	host, port, inBrackets := site, "", false
	for i := range len(site) {
		switch c := site[i]; {
		case c == '[':
			inBrackets = true
		case c == ']':
			inBrackets = false
		case c == ':' && !inBrackets && port == "":
			host, port = site[:i], site[i:]
		}
	}
	if host == "" {
		return b, &Error{Reason: NoHost}
	}
	b, err := appendHost(b, host)
	if err == nil {
		b, err = appendPort(b, scheme, port)
	}
	if err != nil {
		return b, &Error{Reason: Malformed, Cause: err}
	}
	return b, nil
}

// appendPort appends port, which is "" or begins with a colon.
func appendPort(b []byte, scheme, port string) ([]byte, error) {
	if port = strings.TrimPrefix(port, ":"); port == "" {
		return b, nil
	}
	n := 0
	for i := range len(port) {
		if port[i] < '0' || port[i] > '9' {
			return b, errPort
		}
		if n = n*10 + int(port[i]-'0'); n > 65535 {
			return b, errPort
		}
	}
	if n == 80 && scheme == "http" || n == 443 && scheme == "https" {
		return b, nil
	}
	return strconv.AppendInt(append(b, ':'), int64(n), 10), nil
}

// appendHost is the host parser of URL Standard 3.5.
func appendHost(b []byte, host string) ([]byte, error) {
	if host[0] == '[' {
		return appendIPv6(b, host)
	}
	if !isPlain(host) {
		var err error
		if host, err = toASCII(host); err != nil {
			return b, err
		}
	}
	return appendDomain(b, host)
}

// isPlain reports whether domain to ASCII (URL Standard 3.3) only folds the case of host: it is ASCII and has no
// forbidden code point. A-labels are not checked, since June 2026 (whatwg/url#914): DNS has hosts whose A-labels UTS
// #46 rejects.
func isPlain(host string) bool {
	for i := range len(host) {
		if octets[host[i]]&domain == 0 {
			return false
		}
	}
	return true
}

// profile has the checks of UTS #46 that URL Standard 3.3 requires: all but those of hyphens, of STD3 and of lengths.
var profile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.CheckHyphens(false),
	idna.CheckJoiners(true), idna.StrictDomainName(false), idna.VerifyDNSLength(false))

// toASCII returns the domain of a host that is escaped, not ASCII, or has A-labels.
func toASCII(host string) (string, error) {
	if len(host) > maxHostInput {
		return "", errHostLong
	}
	host = unescapeAll(host)
	if !utf8.ValidString(host) {
		return "", errDomain
	}
	if isPlain(host) {
		return host, nil
	}
	if strings.Contains(host, "\u1E9E") {
		// Capital sharp s maps to "ß" since Unicode 15.1; the tables of x/net/idna map it to "ss", which is another
		// host.
		host = strings.ReplaceAll(host, "\u1E9E", "ß")
	}
	name, err := profile.ToASCII(host)
	if err == nil && name != host {
		// x/net/idna (v0.62.0) applies the Bidi rule before mapping ("aℵb", U+2135 to Hebrew alef), so that an A-label
		// may come out that it refuses itself.
		name, err = profile.ToASCII(name)
	}
	if err != nil {
		return "", err
	}
	if !isPlain(name) {
		return "", errDomain
	}
	return name, nil
}

func unescapeAll(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c, ok := Unescape(s[i:])
		if !ok {
			b = append(b, s[i])
			continue
		}
		b = append(b, c)
		i += 2
	}
	return string(b)
}

// appendDomain appends an ASCII domain in lower case without its trailing dot, or its IPv4 address. It enforces the
// lengths of RFC 1035 2.3.4.
func appendDomain(b []byte, host string) ([]byte, error) {
	host = strings.TrimSuffix(host, ".")
	if endsInNumber(host) {
		return appendIPv4(b, host)
	}
	if len(host) > MaxHost {
		return b, errHostLong
	}
	label := 0
	for i := range len(host) {
		c := host[i]
		if c == '.' {
			if i == label || i-label > 63 {
				return b, errLabel
			}
			label = i + 1
		}
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		b = append(b, c)
	}
	if label == len(host) || len(host)-label > 63 {
		return b, errLabel
	}
	return b, nil
}

// endsInNumber is the ends in a number checker of URL Standard 3.5, for a host without trailing dot.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	digits := "0123456789"
	if len(last) >= 2 && strings.EqualFold(last[:2], "0x") {
		digits, last = "0123456789abcdefABCDEF", "0"+last[2:]
	}
	return last != "" && strings.Trim(last, digits) == ""
}

// appendIPv4 is the IPv4 parser of URL Standard 3.5: one to four numbers, decimal, octal or hexadecimal, the last of
// which fills the remaining bytes.
func appendIPv4(b []byte, host string) ([]byte, error) {
	var addr uint64
	for n := 1; ; n++ {
		part, rest, more := strings.Cut(host, ".")
		v, ok := ipv4Number(part)
		if !ok || n > 4 {
			return b, errIPv4
		}
		if !more {
			if v >= 1<<(8*(5-n)) {
				return b, errIPv4
			}
			addr += v
			break
		}
		if v > 255 {
			return b, errIPv4
		}
		addr += v << (8 * (4 - n))
		host = rest
	}
	ip := netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)})
	return ip.AppendTo(b), nil
}

// ipv4Number is the IPv4 number parser of URL Standard 3.5. Values over 32 bits come out as 1<<32.
func ipv4Number(s string) (v uint64, ok bool) {
	radix := uint64(10)
	switch {
	case s == "":
		return 0, false
	case len(s) >= 2 && s[0] == '0' && s[1]|0x20 == 'x':
		radix, s = 16, s[2:]
	case len(s) >= 2 && s[0] == '0':
		radix, s = 8, s[1:]
	}
	for i := range len(s) {
		if octets[s[i]]&hex == 0 || uint64(unhex(s[i])) >= radix {
			return 0, false
		}
		v = min(v*radix+uint64(unhex(s[i])), 1<<32)
	}
	return v, true
}

// appendIPv6 reads an address in brackets. netip agrees with the Standard's parser except for zones, which the Standard
// does not allow, and the spelling of IPv4-mapped addresses.
func appendIPv6(b []byte, host string) ([]byte, error) {
	text, ok := strings.CutSuffix(host[1:], "]")
	if !ok || strings.IndexByte(text, '%') >= 0 {
		return b, errIPv6
	}
	ip, err := netip.ParseAddr(text)
	if err != nil || !ip.Is6() {
		return b, errIPv6
	}
	b = append(b, '[')
	if ip.Is4In6() {
		a := ip.As16()
		b = append(b, "::ffff:"...)
		b = strconv.AppendUint(b, uint64(a[12])<<8|uint64(a[13]), 16)
		b = append(b, ':')
		b = strconv.AppendUint(b, uint64(a[14])<<8|uint64(a[15]), 16)
	} else {
		b = ip.AppendTo(b)
	}
	return append(b, ']'), nil
}

// resolvePlain is Resolve for most links of a site, with one look at each byte: "/path", "path" and a URL with the site
// of u as u spells it, without escapes, dot segments, colons, and bytes to trim, remove or encode. ok is false for all
// others.
func (u URL) resolvePlain(ref string) (v URL, ok bool) {
	if ref == "" || u.IsZero() {
		return URL{}, false
	}
	before := u.fetch[:u.root]
	target, ofSite := strings.CutPrefix(ref, before)
	switch {
	case ofSite && strings.HasPrefix(target, "/"):
	case strings.HasPrefix(ref, "//"):
		return URL{}, false // it begins with a host
	default:
		target = ref
	}
	if !staysAsPath(target) {
		return URL{}, false
	}
	if target[0] != '/' {
		before = u.fetch[:u.root+strings.LastIndexByte(u.Path(), '/')+1]
	}
	if len(before)+len(target) > MaxLength {
		return URL{}, false
	}
	fetch := before + target
	return URL{fetch: fetch, key: keyOf(fetch, u.root), auth: u.auth, root: u.root}, true
}

// staysAsPath reports whether parsing leaves a path with its query unchanged.
func staysAsPath(s string) bool {
	segment := true // begins here
	for i := range len(s) {
		switch c := s[i]; {
		case octets[c]&verbatim != 0:
			segment = false
		case c == '/':
			segment = true
		case c == '.' && !segment:
		case c == '?':
			return i > 0 && staysAsQuery(s[i+1:])
		default:
			return false
		}
	}
	return true
}

// staysAsQuery is staysAsPath for the query. An empty query is not in the key.
func staysAsQuery(s string) bool {
	for i := range len(s) {
		if c := s[i]; octets[c]&verbatim == 0 && c != '/' && c != '.' && c != '?' {
			return false
		}
	}
	return s != ""
}

// Suffix is a public suffix (https://publicsuffix.org) of a host, and the domain with one label more. Domain is empty
// where the host is the suffix itself. The zero Suffix is that of an address, and of a name whose last label is not in
// the list.
type Suffix struct{ Suffix, Domain string }

// Suffixes returns the public suffix of the host by the rules of registries only, and by all rules, including those of
// services that give names to their users, such as github.io.
func (a Authority) Suffixes() (registry, private Suffix) {
	host := a.Host()
	if _, ok := a.Addr(); ok || host == "" {
		return Suffix{}, Suffix{}
	}
	suffix, managed := publicsuffix.PublicSuffix(host)
	if !managed && !strings.Contains(suffix, ".") {
		return Suffix{}, Suffix{} // only the default rule
	}
	private = under(host, suffix)
	for !managed {
		_, rest, ok := strings.Cut(suffix, ".")
		if !ok {
			return private, private
		}
		suffix, managed = publicsuffix.PublicSuffix(rest)
	}
	return under(host, suffix), private
}

// under returns a suffix of host, with the domain of host below it.
func under(host, suffix string) Suffix {
	rest, ok := strings.CutSuffix(host, "."+suffix)
	if !ok {
		return Suffix{Suffix: suffix}
	}
	label := rest[strings.LastIndexByte(rest, '.')+1:]
	return Suffix{Suffix: suffix, Domain: label + "." + suffix}
}
