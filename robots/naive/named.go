package naive

// Named reports whether a group of body names the crawler of that product token: whether its own rules bind it, and not
// those of "*".
func Named(body []byte, token string) bool {
	for _, line := range lines(body) {
		switch key, value := split(line); key {
		case "user-agent", "useragent", "user agent":
			if name := value[:span(value, letters+"-_")]; name != "" && lower(name) == lower(token) {
				return true
			}
		}
	}
	return false
}
