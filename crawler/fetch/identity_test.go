package fetch

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Politeness rule 1.
func TestUserAgentIsDerived(t *testing.T) {
	for _, c := range []struct {
		id   Identity
		want string
		from string
	}{
		{Identity{}, "curtsy", ""},
		{Identity{Version: "0.2"}, "curtsy/0.2", ""},
		{Identity{Version: "0.2", Contact: "https://lab.dev/bot"}, "curtsy/0.2 (+https://lab.dev/bot)", ""},
		{Identity{Version: "0.2", Contact: "jo@lab.dev"}, "curtsy/0.2 (+jo@lab.dev)", "jo@lab.dev"},
		{Identity{Token: "CURTSY", Version: "0.2"}, "CURTSY/0.2", ""},
		{Identity{Token: "Lab_Bot-x", Version: "0.2", Contact: "jo@lab.dev"}, "Lab_Bot-x/0.2 (+jo@lab.dev) curtsy/0.2", "jo@lab.dev"},
		{Identity{Token: "Lab"}, "Lab curtsy", ""},
		{Identity{Operator: "The Lab", Purpose: "a study"}, "curtsy", ""},
	} {
		assert.NoError(t, c.id.Validate(), c.id)
		assert.Equalf(t, c.want, c.id.UserAgent(), "%+v: User-Agent", c.id)
		assert.Equalf(t, c.from, c.id.From(), "%+v: From", c.id)
	}
}

func TestIdentityIsRefused(t *testing.T) {
	for name, id := range map[string]Identity{
		"digit in the token (RFC 9309 2.2.1)": {Token: "Lab2"},
		"blank":                               {Token: "my lab"},
		"line":                                {Token: "lab\r\nCookie: a"},
		"wildcard":                            {Token: "*"},
		"no letter":                           {Token: "--"},
		"not ASCII":                           {Token: "läb"},
		"long":                                {Token: strings.Repeat("a", 65)},
		"crawler":                             {Token: "Googlebot"},
		"crawler in other case":               {Token: "gOOGLEBOT"},
		"crawler's part":                      {Token: "Googlebot-Image"},
		"crawler with a tail":                 {Token: "bingbot_friendly"},
		"browser":                             {Token: "Mozilla"},
		"tool":                                {Token: "Wget"},
		"version":                             {Version: "1 (x)"},
		"version line":                        {Version: "1\r\nX: y"},
		"contact with a blank":                {Contact: "jo @lab.dev"},
		"contact line":                        {Contact: "https://lab.dev/\r\nX: y"},
		"contact that ends the comment":       {Contact: "https://lab.dev/)x"},
		"contact with a quoted pair":          {Contact: `https://lab.dev/\`},
		"contact of another scheme":           {Contact: "ftp://lab.dev/"},
		"mailto":                              {Contact: "mailto:jo@lab.dev"},
		"name and mailbox":                    {Contact: "Jo<jo@lab.dev>"},
		"two mailboxes":                       {Contact: "jo@lab.dev,al@lab.dev"},
		"neither":                             {Contact: "lab.dev"},
		"URL without host":                    {Contact: "https:///bot"},
		"URL with a password":                 {Contact: "https://jo:pw@lab.dev/"},
		"long contact":                        {Contact: "https://lab.dev/" + strings.Repeat("a", 256)},
	} {
		if err := id.Validate(); err == nil {
			t.Errorf("%s: %+v is accepted", name, id)
		} else if s := err.Error(); !strings.HasPrefix(s, "fetch: ") || strings.ContainsAny(s, "\r\n") {
			t.Errorf("%s: %q", name, s)
		}
	}
	for _, token := range []string{"Googly", "LanternBot", "Mozillafan", "curtsy", "Javanese", "my-Googlebot-study"} {
		assert.NoError(t, (Identity{Token: token}).Validate(), token)
	}
}

// Politeness rule 2.
func TestContactMustBeReachable(t *testing.T) {
	for contact, reachable := range map[string]bool{
		"": false, "https://lab.dev/bot": true, "http://lab.dev": true, "https://lab.dev:8443/": true,
		"jo@lab.dev": true, "jo+bot@cs.lab.ac.uk": true, "https://example.com/bot": false,
		"https://www.Example.ORG./": false, "https://anexample.com/": true, "jo@example.net": false,
		"jo@mail.example": false, "https://lab.test/": false, "https://lab.invalid/": false,
		"https://localhost/": false, "https://lab.localhost/": false, "https://intranet/": false,
		"jo@lab": false, "https://printer.local/": false, "https://wiki.internal/": false,
		"https://93.184.215.14/": false, "https://[2606:2800::1]/": false,
		"crawl@your-domain.org":                false, // of README
		"https://www.your-domain.org/crawler/": false, "not a contact": false,
	} {
		err := Identity{Contact: contact}.CheckContact()
		assert.Equalf(t, reachable, (err == nil), "%q: %v, want reachable", contact, err)
		if err != nil && contact != "not a contact" && !strings.Contains(err.Error(), "curtsy identity set --contact") {
			t.Errorf("%q: the error has no next step: %v", contact, err)
		}
	}
	_, advised, _ := strings.Cut(Identity{}.CheckContact().Error(), "identity set --contact ")
	if advised, _, _ = strings.Cut(advised, " "); (Identity{Contact: advised}).CheckContact() == nil {
		t.Errorf("%q, which the error shows how to write, is taken for the operator's own", advised)
	}
}

func TestListOfTokens(t *testing.T) {
	seen, parts := map[string]bool{}, strings.Split(tokens, "\n\n")
	for _, part := range parts {
		lines := strings.Fields(strings.ToLower(regexp.MustCompile("(?m)^#.*$").ReplaceAllString(part, "")))
		assert.Truef(t, slices.IsSorted(lines), "not sorted: %v", lines)
		for _, line := range lines {
			assert.Emptyf(t, strings.Trim(line, letters+"-_"), "%q is outside the grammar: no identity could claim it", line)
			assert.Falsef(t, seen[line], "%q is listed twice", line)
			seen[line] = true
		}
	}
	assert.GreaterOrEqual(t, len(seen), 100)
	assert.GreaterOrEqual(t, len(parts), 6)
}
