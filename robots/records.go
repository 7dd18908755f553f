package robots

import "strings"

// The standards before RFC 9309 divide a file into records by blank lines. One record binds: the first that names the
// crawler, or else the first of "*" (1996 3.2.1). An agent line after a rule begins a record as well, as robots have
// read it since libwww-perl. A record without a rule is none: both documents demand one. (To pass over it, and to look
// for another, never permits more.)

// names1996 reports whether the value of a user-agent line contains the crawler's name.
func (p *parser) names1996(value string) bool {
	n := len(p.token)
	for i := 0; i+n <= len(value) && n > 0; i++ {
		if strings.EqualFold(value[i:i+n], p.token) {
			return true
		}
	}
	return false
}

// begin is called with the first rule of a record, and decides whether the record binds, for as long as no better one
// comes.
func (p *parser) begin() {
	switch {
	case p.inOwn && p.own.name == "":
		p.own.name, p.rules, p.names = p.own.met, p.rules[:0], nil
		p.enter(p.own.met)
	case p.inAll && p.all.name == "":
		p.all.name = p.all.met
		if p.own.name == "" {
			p.enter(p.all.met)
		}
	}
}
