package naive

// Rate returns the seconds between two requests that follow from a Request-rate, "n/t": n requests in each t. It is
// chosen like Delay: the longest counts, and who is asked for none of his own gets that of "*".
func Rate(body []byte, token string) (seconds float64, ok bool) {
	_, _, r := read(body, token)
	return max(r, 0), r >= 0
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
