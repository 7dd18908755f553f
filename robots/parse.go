package robots

import (
	"crypto/sha256"
	"strings"
)

// Parse reads a robots.txt for one crawler. It never fails: what can be read is used, the rest is passed over
// (RFC 9309 2.3.1.5). A body over MaxBody is cut at its last whole line. The policy does not keep body.
func Parse(body []byte, o Options) *Policy {
	p := parser{token: o.Token, text: string(cut(body, MaxBody))}
	p.parse()
	binding := p.all
	if p.own.name != "" {
		binding = p.own
	}
	return &Policy{
		token:    o.Token,
		standard: RFC9309,
		digest:   sha256.Sum256(body),
		named:    p.own.name != "",
		group:    binding.name,
		names:    p.names,
		rules:    newRuleset(p.text+string(p.spelled), p.rules),
		wait:     p.own.delay.or(p.all.delay),
		rate:     p.own.rate.or(p.all.rate),
		sitemaps: p.sitemaps,
	}
}

// parser goes through a file once and keeps only what may bind the crawler: its own groups, and those of "*" for as
// long as no own one has come.
type parser struct {
	token    string
	text     string
	spelled  []byte // patterns whose canonical spelling differs from the file's; spans beyond text lie here
	rules    []rule
	names    []string // of the agent lines whose groups the rules stand in
	sitemaps []string
	own, all groups // all is those of "*"

	// The group that is being read.
	heading      bool // only agent lines have come so far, and other records
	inOwn, inAll bool // it names the crawler; it names "*"
	name         int32
}

// groups is what the groups of one name have in common, once merged (RFC 9309 2.2.1).
type groups struct {
	name  string // as first written; empty when there is no such group
	delay delay
	rate  delay
}

func (p *parser) parse() {
	for l := newLines(p.text); ; {
		line, ok := l.next()
		if !ok {
			return
		}
		r, ok := read(p.text, line)
		if !ok {
			continue
		}
		if r.field == allow || r.field == disallow {
			p.rule(r, l.number)
			continue
		}
		value := r.value.in(p.text)
		if hasControl(value) {
			value = "" // an invalid value is none (RFC 9309 3)
		}
		switch r.field {
		case userAgent:
			p.agent(value)
		case crawlDelay:
			p.delay(readDelay(value), delay{})
		case requestRate:
			p.delay(delay{}, readRate(value))
		case sitemap:
			if value != "" {
				p.sitemaps = append(p.sitemaps, value)
			}
		}
	}
}

// agent reads a user-agent line. After a rule it begins a group, whatever its value is.
func (p *parser) agent(value string) {
	if !p.heading {
		p.heading, p.inOwn, p.inAll = true, false, false
	}
	token := leadingToken(value)
	switch {
	case token != "" && strings.EqualFold(token, p.token):
		if p.own.name == "" {
			// RFC 9309 2.2.1: "*" is for crawlers that no group names. Its rules so far do not bind us.
			p.own.name, p.rules, p.names = value, p.rules[:0], nil
		}
		if !p.inOwn {
			p.enter(value)
		}
		p.inOwn = true
	case value == "*" || strings.HasPrefix(value, "* ") || strings.HasPrefix(value, "*\t"):
		if p.all.name == "" {
			p.all.name = value
		}
		if !p.inAll && p.own.name == "" {
			p.enter(value)
		}
		p.inAll = true
	}
}

// enter makes name the one under which the rules of the group are kept.
func (p *parser) enter(name string) {
	p.names = append(p.names, name)
	p.name = int32(len(p.names) - 1)
}

// rule reads an Allow or Disallow line. Any ends the list of agents, one without a usable path too.
func (p *parser) rule(r record, line int) {
	p.heading = false
	value := r.value.in(p.text)
	if binds := p.inOwn || p.inAll && p.own.name == ""; !binds || value == "" || value[0] != '/' && value[0] != '*' {
		return // no path begins otherwise, so that the rule can match none
	}
	pattern := r.value
	if !isCanonicalPattern(value) {
		if hasControl(value) {
			return
		}
		pattern.from = uint32(len(p.text) + len(p.spelled))
		p.spelled = appendCanonical(p.spelled, value, true)
		pattern.to = uint32(len(p.text) + len(p.spelled))
	}
	if p.rules == nil {
		p.rules = make([]rule, 0, mostRules(p.text[r.value.to:]))
	}
	p.rules = append(p.rules, rule{
		written: r.written,
		pattern: pattern,
		line:    int32(line),
		group:   p.name,
		parent:  -1,
		allow:   r.field == allow,
	})
}

// mostRules returns how many rules a text may hold: no more than lines, and none is shorter than "allow:/" with its end.
// A file that mixes its line ends may hold more.
func mostRules(text string) int {
	n := strings.Count(text, "\n")
	if n == 0 {
		n = strings.Count(text, "\r")
	}
	return min(n, len(text)/len("allow:/\n")) + 1
}

// delay gives a Crawl-delay and a Request-rate to the agents that the group has named so far. It does not end their
// list: RFC 9309 2.2.4 forbids other records to interfere.
func (p *parser) delay(wait, rate delay) {
	if p.inOwn {
		p.own.delay, p.own.rate = p.own.delay.longer(wait), p.own.rate.longer(rate)
	}
	if p.inAll {
		p.all.delay, p.all.rate = p.all.delay.longer(wait), p.all.rate.longer(rate)
	}
}
