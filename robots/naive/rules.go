package naive

// Rule is a rule that binds a crawler. Its pattern is written as it is compared with a Target: by RFC 9309 with "*" and
// a last "$", by the older documents as the octets that a target must begin with.
type Rule struct {
	Allow   bool
	Pattern string
	Line    int // of the body, from 1
}

// Rules returns the rules of body that bind the crawler of that product token by a document as in AllowedBy, in the
// order of the body: for those who ask about many targets, and need not read the body again for each.
func Rules(standard string, body []byte, token string) (all []Rule) {
	switch standard {
	case "draft1996":
		all = binding(records(body, "allow"), token)
		for i := range all {
			all[i].Pattern = decode(all[i].Pattern)
		}
	case "std1994":
		all = binding(records(body, "disallow"), token)
	default:
		all, _, _ = read(body, token)
	}
	return all
}

// Target writes a target as a document compares it with the patterns of Rules. "/robots.txt" is always allowed.
func Target(standard, target string) string {
	switch standard {
	case "draft1996":
		return decode(request(target))
	case "std1994":
		return request(target)
	}
	return spell(request(target), false)
}
