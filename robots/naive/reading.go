package naive

// Reading is what one document makes of a body for one crawler. It gives the answers of AllowedBy without reading the
// body again for each, for those who ask about every URL of an archive.
type Reading struct {
	standard string
	rules    []rule
}

// Read reads body once for the crawler of that product token, by a document as in AllowedBy.
func Read(standard string, body []byte, token string) Reading {
	switch standard {
	case "draft1996":
		var rules []rule
		for _, r := range binding(records(body, "allow"), token) {
			rules = append(rules, rule{r.allow, decode(r.pattern), r.line})
		}
		return Reading{standard, rules}
	case "std1994":
		return Reading{standard, binding(records(body, "disallow"), token)}
	}
	rules, _ := read(body, token)
	return Reading{"", rules}
}

// Size is about how many octets of memory a Reading holds.
func (r Reading) Size() (n int) {
	for _, rule := range r.rules {
		n += len(rule.pattern) + 40
	}
	return n
}

// Allowed is AllowedBy for the body, the token and the document that were read.
func (r Reading) Allowed(target string) (allowed bool, line int) {
	switch r.standard {
	case "draft1996":
		target = decode(request(target))
	case "std1994":
		target = request(target)
	default:
		target = spell(request(target), false)
	}
	if target == "/robots.txt" {
		return true, 0
	}
	if r.standard != "" {
		return r.first(target)
	}
	longest, allowed := -1, true
	for _, rule := range r.rules {
		n := len(rule.pattern)
		if (n > longest || n == longest && rule.allow && !allowed) && matches(rule.pattern, target) {
			longest, allowed, line = n, rule.allow, rule.line
		}
	}
	return allowed, line
}

// matches is fits, piece by piece: what stands before the first "*" begins url, each piece after it is looked for behind
// the one before, as early as it can be, and with "$" the last one ends url.
func matches(pattern, url string) bool {
	end := pattern != "" && pattern[len(pattern)-1] == '$'
	if end {
		pattern = pattern[:len(pattern)-1]
	}
	piece, rest, more := cut(pattern, "*")
	if !begins(url, piece) || end && !more && url != piece {
		return false
	}
	for url = url[len(piece):]; more; {
		piece, rest, more = cut(rest, "*")
		if end && !more {
			return len(url) >= len(piece) && url[len(url)-len(piece):] == piece
		}
		for !begins(url, piece) {
			if len(url) <= len(piece) {
				return false
			}
			url = url[1:]
		}
		url = url[len(piece):]
	}
	return true
}

// first answers by the first rule that target begins with, as the older documents do.
func (r Reading) first(target string) (allowed bool, line int) {
	for _, rule := range r.rules {
		if rule.pattern != "" && begins(target, rule.pattern) {
			return rule.allow, rule.line
		}
	}
	return true, 0
}
