package naive

type recordOf struct {
	agents []string
	rules  []Rule
}

// records returns the records of a file. A blank line ends one, and so does a user-agent line after a rule. Rules
// before the first user-agent line of a record bind nobody. With also "disallow" only that is a rule.
func records(body []byte, also string) (all []recordOf) {
	var r recordOf
	for i, line := range lines(body) {
		key, value := split(line)
		switch key {
		case "user-agent", "useragent", "user agent":
			if len(r.rules) > 0 {
				all, r = append(all, r), recordOf{}
			}
			r.agents = append(r.agents, value)
		case also, "disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw":
			if len(r.agents) > 0 {
				r.rules = append(r.rules, Rule{key == "allow", value, i + 1})
			}
		}
		if trim(line) == "" {
			all, r = append(all, r), recordOf{}
		}
	}
	return append(all, r)
}

// binding returns the rules of the first record that contains the crawler's name, or else of the first for "*". A
// record without a rule does not count.
func binding(all []recordOf, token string) []Rule {
	for _, r := range all {
		for _, agent := range r.agents {
			if len(r.rules) > 0 && token != "" && span(token, letters+"-_") == len(token) &&
				contains(lower(agent), lower(token)) {
				return r.rules
			}
		}
	}
	for _, r := range all {
		for _, agent := range r.agents {
			if first, _, _ := cut(agent, white); len(r.rules) > 0 && first == "*" {
				return r.rules
			}
		}
	}
	return nil
}

// decode decodes all escapes but that of "/", so that no byte can be taken for part of an escape.
func decode(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && span(s[i+1:], hex) >= 2 {
			c = nibble(s[i+1])<<4 | nibble(s[i+2])
			i += 2
			if c == '/' {
				out = append(out, "%2F"...)
				continue
			}
		}
		if c == '%' {
			out = append(out, "%25"...)
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

func request(target string) string {
	target, _, _ = cut(target, "#")
	if target == "" || target[0] != '/' {
		return "/" + target
	}
	return target
}

func contains(s, part string) bool {
	for i := 0; i+len(part) <= len(s); i++ {
		if s[i:i+len(part)] == part {
			return true
		}
	}
	return false
}
