package robots

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/foreigntest"
	"curtsy/robots/naive"
)

// Cases of other readers of robots.txt, which package naive also answers.
func TestForeignCases_Robots(t *testing.T) {
	for _, name := range []string{"crawler-commons-robots", "google-robots", "protego", "reppy", "robots-parser"} {
		foreigntest.Run(t, name, func(asked []string) string {
			body := foreignBody(t, asked[0])
			ours, second := foreignAnswer(body, asked[1], asked[2]), naiveAnswer(body, asked[1], asked[2])
			if second != "" && second != ours {
				return ours + ", and naive: " + second
			}
			return ours
		})
	}
}

// foreignBody reads a robots.txt of the cases, which have bytes that are not UTF-8 in hexadecimal digits.
func foreignBody(t *testing.T, text string) []byte {
	digits, ok := strings.CutPrefix(text, "hex:")
	if !ok {
		return []byte(text)
	}
	body, err := hex.DecodeString(digits)
	require.NoError(t, err)
	return body
}

// foreignAnswer is the answer of package robots about a URL, its line, or another record.
func foreignAnswer(body []byte, agent, question string) string {
	p := Parse(body, Options{Token: agent})
	switch question {
	case "product token":
		if ValidToken(agent) != nil {
			return "invalid"
		}
		return "valid"
	case "crawl-delay":
		d, ok := p.CrawlDelay()
		return pauseText(d.Seconds(), ok)
	case "request-rate":
		d, ok := p.RequestRate()
		return pauseText(d.Seconds(), ok)
	case "sitemaps":
		return strings.Join(p.Sitemaps(), " ")
	case "number of sitemaps":
		return strconv.Itoa(len(p.ResolveSitemaps("http://domain.com/robots.txt")))
	}
	url, line := strings.CutPrefix(question, "line ")
	v := p.Match(pathOf(url))
	return verdictText(v.Allowed, v.Line, line)
}

// naiveAnswer is the answer of package naive; empty when it has none.
func naiveAnswer(body []byte, agent, question string) string {
	if ValidToken(agent) != nil {
		agent = "" // which package robots refuses, and package naive does not look at
	}
	switch question {
	case "product token", "sitemaps", "number of sitemaps":
		return ""
	case "crawl-delay":
		return pauseText(naive.Delay(body, agent))
	case "request-rate":
		return pauseText(naive.Rate(body, agent))
	}
	url, line := strings.CutPrefix(question, "line ")
	allowed, n := naive.Read("rfc9309", body, agent).Allowed(pathOf(url))
	return verdictText(allowed, n, line)
}

func pauseText(seconds float64, ok bool) string {
	if !ok {
		return "none"
	}
	return fmt.Sprintf("%g", seconds)
}

func verdictText(allowed bool, n int, line bool) string {
	switch {
	case line:
		return strconv.Itoa(n)
	case allowed:
		return "allowed"
	}
	return "disallowed"
}

func pathOf(url string) string {
	url, _, _ = strings.Cut(url, "#")
	if _, rest, ok := strings.Cut(url, "://"); ok && !strings.HasPrefix(url, "/") {
		url = rest[min(strings.IndexAny(rest+"/", "/?"), len(rest)):]
	}
	if !strings.HasPrefix(url, "/") {
		url = "/" + url
	}
	return url
}
