package report

import "curtsy/storage"

type ruleKey struct {
	host, reason, rule, group string
	line                      int
	allowed                   bool
}

// judged takes in what robots.txt decided.
func (g *gathering) judged(l *storage.Line, name string) {
	n := times(l)
	if l.Decision == storage.DecisionRobots {
		if Sent(l) {
			g.robots.Asked++
		}
		g.file(l)
		return
	}
	allowed := l.Decision == storage.DecisionAllow
	if !allowed && l.Decision != storage.DecisionDisallow {
		return
	}
	k := ruleKey{host: name, line: l.RobotsLine, rule: cleanTo(l.RobotsRule, 200), group: cleanTo(l.RobotsGroup, 100),
		allowed: allowed}
	switch {
	case allowed:
		g.robots.Allowed += n
	default:
		g.robots.Disallowed += n
		k.reason = cleanTo(Class(l.Reason), 100)
		if k.reason == "unreachable" {
			g.robots.Unreachable += n
		}
		g.forbidden(l, n)
	}
	if l.Standard != "" {
		g.standards.add(l.Standard, n, 0, "")
	}
	if allowed && k.line == 0 {
		return // no rule decided
	}
	r := g.rules[k]
	if r == nil && len(g.rules) >= maxRules {
		g.robots.MoreRules += n
		return
	}
	if r == nil {
		r = &Rule{Host: name, Allowed: allowed, Reason: k.reason, Line: k.line, Rule: k.rule, Group: k.group,
			Sample: clean(l.URL)}
		g.rules[k] = r
	}
	r.Count += n
}

// forbidden lists a URL that robots.txt forbade, where that was asked about.
func (g *gathering) forbidden(l *storage.Line, n int64) {
	if !g.only || len(g.refused) >= maxRefused {
		return
	}
	g.refused = append(g.refused, Refusal{
		Time: l.Time, URL: clean(l.URL), Reason: clean(l.Reason), Line: l.RobotsLine, Rule: clean(l.RobotsRule), Count: n,
	})
}

// file lists what came of asking for robots.txt, where that was asked about.
func (g *gathering) file(l *storage.Line) {
	if !g.only {
		return
	}
	from, _ := span(l)
	f := RobotsFile{Time: from, URL: clean(l.URL), Status: l.Status, Reason: clean(l.Reason),
		SHA256: cleanTo(l.RobotsSHA256, 64), Times: 1}
	if n := len(g.robots.Files); n > 0 {
		last := &g.robots.Files[n-1]
		if last.URL == f.URL && last.Status == f.Status && last.SHA256 == f.SHA256 && last.Reason == f.Reason {
			last.Times++
			return
		}
		if n >= maxFiles {
			return
		}
	}
	g.robots.Files = append(g.robots.Files, f)
}
