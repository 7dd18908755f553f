package naive

// Rate returns the seconds between two requests that follow from a Request-rate, "n/t": n requests in each t. It is
// chosen like Delay: the longest counts, and who is asked for none of his own gets that of "*".
func Rate(body []byte, token string) (seconds float64, ok bool) {
	rates := [2]float64{-1, -1} // those of "*", those of the token
	var in [2]bool
	heading := false
	for _, line := range lines(body) {
		switch key, value := split(line); key {
		case "user-agent", "useragent", "user agent":
			if !heading {
				heading, in = true, [2]bool{}
			}
			if name := value[:span(value, letters+"-_")]; name != "" && lower(name) == lower(token) {
				in[1] = true
			}
			if first, _, _ := cut(value, white); first == "*" {
				in[0] = true
			}
		case "allow", "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw":
			heading = false
		case "request-rate":
			for k := range in {
				if in[k] {
					rates[k] = max(rates[k], rate(value))
				}
			}
		}
	}
	if rates[1] < 0 {
		rates[1] = rates[0]
	}
	return max(rates[1], 0), rates[1] >= 0
}

// rate reads "n/t" as the seconds for each of n; -1 when s is nothing of the kind, or n is 0.
func rate(s string) float64 {
	count, period, _ := cut(s, "/")
	count, period = trim(count), trim(period)
	n, t := number(count), number(period)
	if count == "" || span(count, digits) < len(count) || n == 0 || t < 0 {
		return -1
	}
	return min(t, 365*24*60*60) / n // whoever names more than a year has a year (package robots)
}
