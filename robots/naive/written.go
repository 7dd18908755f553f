package naive

// Written returns a line of body, from 1, as its author wrote it, without its comment and surrounding white space.
func Written(body []byte, line int) string {
	all := lines(body)
	if line < 1 || line > len(all) {
		return ""
	}
	text, _, _ := cut(all[line-1], "#")
	return trim(text)
}

// Group returns the value of the user-agent line that makes a rule bind the crawler by RFC 9309, the first of its group
// that does; for line 0, of the first group that binds it at all. It is empty without one.
func Group(body []byte, token string, line int) string {
	own := Named(body, token)
	heading, first, of := false, "", ""
	for i, text := range lines(body) {
		switch key, value := split(text); key {
		case "user-agent", "useragent", "user agent":
			if !heading {
				heading, of = true, ""
			}
			star, _, _ := cut(value, white)
			if of == "" && (own && isName(value, token) || !own && star == "*") {
				of = value
			}
			if first == "" {
				first = of
			}
		case "allow", "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw":
			heading = false
			if i+1 == line {
				return of
			}
		}
	}
	if line > 0 {
		return ""
	}
	return first
}
