package naive

// Named reports whether a group of body names the crawler of that product token: whether its own rules bind it, and not
// those of "*".
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

// isName reports whether the value of a user-agent line is the crawler's product token, in any case of letters.
func isName(value, token string) bool {
	name := value[:span(value, letters+"-_")]
	return name != "" && lower(name) == lower(token)
}
