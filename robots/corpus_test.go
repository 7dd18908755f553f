package robots

import (
	"fmt"
	"slices"
	"testing"

	"curtsy/robots/naive"
)

// Every case, under every standard that it speaks of, judged by this package and by naive.
func TestCorpus(t *testing.T) {
	const least = 400 // verdicts; a loop over nothing passes
	total := 0
	for _, c := range corpus(t) {
		t.Run(c.name, func(t *testing.T) {
			for _, x := range c.examples {
				for _, e := range x.expect {
					for _, s := range e.standards {
						total++
						if why := x.judge(s, e); why != "" {
							t.Errorf("%s.txt:%d: %v: %s\n%s", c.name, e.at, s, why, shortened(x.body))
						}
					}
				}
			}
		})
	}
	if total < least {
		t.Errorf("only %d expectations, want %d and more", total, least)
	}
	t.Logf("%d expectations", total)
}

// judge says what is wrong with the answers to e; nothing when they are as expected.
func (x corpusExample) judge(s Standard, e expectation) string {
	p := Parse(x.body, Options{Token: e.agent, Standard: s})
	switch e.kind {
	case "delay":
		got := "none"
		if d, ok := p.CrawlDelay(); ok {
			got = d.String()
		}
		if got != e.values[0] {
			return fmt.Sprintf("delay of %s: %s, want %s", e.agent, got, e.values[0])
		}
	case "sitemaps":
		if got := p.ResolveSitemaps("https://bakery.test/robots.txt"); !slices.Equal(got, e.values) {
			return fmt.Sprintf("sitemaps %q, want %q", got, e.values)
		}
	case judged:
		v := p.Match(e.target)
		if v.Allowed != e.allowed || v.Line != e.line {
			return fmt.Sprintf("%s, %.99q: allowed %v by line %d (%.99q), want %v by line %d", e.agent, e.target, v.Allowed, v.Line, v.Rule, e.allowed, e.line)
		}
		if testing.Short() && len(x.body) > 10_000 {
			return "" // naive takes a minute under the race detector
		}
		if allowed, line := naive.AllowedBy(s.String(), x.body, e.agent, e.target); allowed != e.allowed || line != e.line {
			return fmt.Sprintf("%s, %.99q: naive: allowed %v by line %d, want %v by line %d", e.agent, e.target, allowed, line, e.allowed, e.line)
		}
	}
	return ""
}

func shortened(body []byte) string {
	if len(body) > 1000 {
		return fmt.Sprintf("%.500s… (%d octets)", body, len(body))
	}
	return string(body)
}

func TestCorpusEscapes(t *testing.T) {
	for in, want := range map[string]string{`a\n\r\t\\`: "a\n\r\t\\", `\xC3\xa9`: "é", `\(3*ab)c`: "abababc", "plain": "plain"} {
		if got, err := unescapeCase(in); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range []string{`\`, `\q`, `\x4`, `\(a*b)`} {
		if got, err := unescapeCase(in); err == nil {
			t.Errorf("%s is read as %q", in, got)
		}
	}
}

func TestCorpusRefusesWhatItCannotRead(t *testing.T) {
	const head = "title: t\ncites: RFC 9309 2 \"s\"\n"
	const file = "--- robots.txt\nuser-agent: *\ndisallow: /\n--- verdicts\n"
	if _, err := readCase(head + file + "all a /b deny 2\n"); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"no head":              file + "all a /b deny 2\n",
		"no file":              head,
		"no verdicts":          head + file,
		"no verdicts, one has": head + file + file + "all a /b deny 2\n",
		"no section":           head + "--- robots.txt\nuser-agent: *\n",
		"unknown key":          "titel: t\n" + head + file + "all a /b deny 2\n",
		"citation":             "title: t\ncites: RFC 9309\n" + file + "all a /b deny 2\n",
		"unknown standard":     head + file + "rfc9308 a /b deny 2\n",
		"neither":              head + file + "all a /b forbid 2\n",
		"no line":              head + file + "all a /b allow\n",
		"not a line":           head + file + "all a /b allow x\n",
		"denied by none":       head + file + "all a /b deny -\n",
	} {
		if c, err := readCase(text); err == nil {
			t.Errorf("%s: read as %+v", name, c)
		}
	}
}
