package naive

// Rule is a rule that binds a crawler. Its pattern is spelled for comparison with a target: by RFC 9309 with "*" and a
// last "$", by the older documents as the prefix of a target.
type Rule struct {
	Allow   bool
	Pattern string
	Line    int // of the body, from 1
}

// Named reports whether a group of body names the crawler, so that its own rules bind it instead of those of "*".
func Named(body []byte, token string) bool {
	for _, line := range lines(body) {
		switch key, value := split(line); key {
		case "user-agent", "useragent", "user agent":
			if isName(value, token) {
				return true
			}
		}
	}
	return false
}

// isName reports whether the value of a user-agent line is the crawler's product token, in any case.
func isName(value, token string) bool {
	name := value[:span(value, letters+"-_")]
	return name != "" && lower(name) == lower(token)
}

// Rate returns the seconds between two requests that follow from a Request-rate, "n/t": n requests in each t. It is
// chosen like Delay: the longest counts, and a crawler without its own gets that of "*".
func Rate(body []byte, token string) (seconds float64, ok bool) {
	_, _, r := read(body, token)
	return max(r, 0), r >= 0
}

// rate reads "n/t" as the seconds for each of n; -1 when s is invalid, or n is 0.
func rate(s string) float64 {
	count, period, _ := cut(s, "/")
	count, period = trim(count), trim(period)
	n, t := number(count), number(period)
	if count == "" || span(count, digits) < len(count) || n == 0 || t < 0 {
		return -1
	}
	return min(t, 365*24*60*60) / n // at most a year (package robots)
}
