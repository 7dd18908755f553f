package naive

const (
	white            = " \t"
	digits           = "0123456789"
	letters          = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	hex              = digits + "ABCDEFabcdef"
	unreservedOctets = digits + letters + "-._~"            // match themselves, escaped or not (RFC 3986 2.3)
	plain            = unreservedOctets + ":/?[]@!&'()+,;=" // match themselves unless escaped (RFC 3986 2.2)
)

// Delay returns the Crawl-delay of the crawler in seconds.
func Delay(body []byte, token string) (seconds float64, ok bool) {
	_, d, _ := read(body, token)
	return max(d, 0), d >= 0
}

// read returns the rules that bind the crawler, and its Crawl-delay and Request-rate in seconds, -1 for none.
func read(body []byte, token string) (_ []Rule, delay, each float64) {
	var rules [2][]Rule // those of "*", those of the token
	delays, rates := [2]float64{-1, -1}, [2]float64{-1, -1}
	var in [2]bool // the group being read is of "*", of the token
	heading, named := false, 0
	for i, line := range lines(body) {
		switch key, value := split(line); key {
		case "user-agent", "useragent", "user agent":
			if !heading {
				heading, in = true, [2]bool{}
			}
			if isName(value, token) {
				in[1], named = true, 1
			}
			if first, _, _ := cut(value, white); first == "*" {
				in[0] = true
			}
		case "crawl-delay", "crawldelay":
			for k := range in {
				if in[k] {
					delays[k] = max(delays[k], number(value))
				}
			}
		case "request-rate":
			for k := range in {
				if in[k] {
					rates[k] = max(rates[k], rate(value))
				}
			}
		case "allow", "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw":
			heading = false
			pattern := spell(value, true)
			for k := range in {
				if in[k] && span(pattern, "/*") > 0 {
					rules[k] = append(rules[k], Rule{key == "allow", pattern, i + 1})
				}
			}
		}
	}
	if delays[1] < 0 {
		delays[1] = delays[0]
	}
	if rates[1] < 0 {
		rates[1] = rates[0]
	}
	return rules[named], delays[1], rates[1]
}

// lines splits a body at CR, LF and CRLF. In a body of more than 500 KiB, only the lines count that are whole within
// them, also one whose end is the byte after them.
func lines(body []byte) (all []string) {
	start, limit := 0, 500*1024
	whole := len(body) <= limit
	if text, ok := narrow(body[:min(len(body), limit)]); ok {
		body, limit = text, len(text)
	}
	if len(body) >= 3 && string(body[:3]) == "\xEF\xBB\xBF" {
		start = 3
	}
	for i := 0; i < len(body) && i < limit; i++ {
		if body[i] == '\r' || body[i] == '\n' {
			all = append(all, string(body[start:i]))
			if body[i] == '\r' && i+1 < len(body) && body[i+1] == '\n' {
				i++
			}
			start = i + 1
		}
	}
	if whole {
		return append(all, string(body[start:]))
	}
	if start < limit && limit < len(body) && (body[limit] == '\r' || body[limit] == '\n') {
		all = append(all, string(body[start:limit]))
	}
	return all
}

// split returns field, in lower case, and value of a line.
func split(line string) (key, value string) {
	line, _, _ = cut(line, "#")
	key, value, ok := cut(trim(line), ":")
	if !ok { // two words suffice
		key, value, ok = cut(key, white)
		if _, _, more := cut(trim(value), white); !ok || more {
			return "", ""
		}
	}
	key, value = lower(trim(key)), trim(value)
	for _, c := range []byte(value) {
		if c < ' ' && c != '\t' {
			return key, "" // invalid (RFC 9309 3)
		}
	}
	return key, value
}

// spell writes a path for comparison: each byte in unreservedOctets or as "%" and two digits, never both ways. In a
// pattern "*" and a last "$" are special.
func spell(s string, pattern bool) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c, stay := s[i], plain
		if c == '%' && span(s[i+1:], hex) >= 2 {
			c, stay = nibble(s[i+1])<<4|nibble(s[i+2]), unreservedOctets
			i += 2
		} else if pattern && (c == '*' || c == '$' && i == len(s)-1) {
			stay = "*$"
		}
		if one := string([]byte{c}); span(one, stay) > 0 {
			out = append(out, one...)
		} else {
			out = append(out, '%', hex[c/16], hex[c%16])
		}
	}
	return string(out)
}

// number reads digits[.digits] and perhaps a unit as seconds; -1 when s is invalid.
func number(s string) (n float64) {
	whole, place := span(s, digits), 1.0
	end := whole
	if whole < len(s) && s[whole] == '.' && span(s[whole+1:], digits) > 0 {
		end += 1 + span(s[whole+1:], digits)
	}
	for i := range end {
		if i < whole {
			n = n*10 + float64(s[i]-'0')
		} else if i > whole {
			place /= 10
			n += place * float64(s[i]-'0')
		}
	}
	for i, unit := range []float64{1, 1, 1, 60, 60 * 60, 24 * 60 * 60} {
		if rest := lower(s[end:]) + " "; whole > 0 && rest[0] == " \tsmhd"[i] {
			return n * unit
		}
	}
	return -1
}

func nibble(c byte) byte {
	if c >= 'A' {
		return c&7 + 9
	}
	return c & 15
}

// cut splits s at its first byte that is in set.
func cut(s, set string) (before, after string, found bool) {
	for i := range len(s) {
		if span(s[i:i+1], set) > 0 {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// span returns how many bytes at the start of s are in set.
func span(s, set string) (n int) {
	for k := 0; n < len(s) && k < len(set); k++ {
		if s[n] == set[k] {
			n, k = n+1, -1
		}
	}
	return n
}

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}
