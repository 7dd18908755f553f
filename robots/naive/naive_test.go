package naive

import (
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAllowed(t *testing.T) {
	const rfc = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\nUser-Agent: foobot\nDisallow:/\nAllow:/example/page.html\n" +
		"Allow:/example/allowed.gif\n\nUser-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n"
	for _, c := range []struct {
		name, file, token, target string
		allowed                   bool
		line                      int
	}{
		{"5.1, star", rfc, "x", "/example/a", false, 3},
		{"5.1, star, end", rfc, "x", "/a/b.gif", false, 2},
		{"5.1, star, behind the end", rfc, "x", "/a/b.gif?c", true, 0},
		{"5.1, star, longest", rfc, "x", "/publications/b.gif", true, 4},
		{"5.1, foobot", rfc, "FooBot", "/example/page.html?", true, 8},
		{"5.1, foobot, else", rfc, "foobot", "/", false, 7},
		{"5.1, bazbot", rfc, "bazbot", "/example/page.html", false, 13},
		{"5.1, quxbot", rfc, "quxbot", "/a.gif", true, 0},
		{"tie", "user-agent: *\ndisallow: /a\nallow: /a", "x", "/a", true, 3},
		{"itself", "user-agent: *\ndisallow: /", "x", "/robots%2etxt", true, 0},
		{"escapes", "user-agent: *\ndisallow: /%7ea%2fb\xE9", "x", "/~a%2Fb%e9", false, 2},
		{"reserved", "user-agent: *\ndisallow: /a%2fb", "x", "/a/b", true, 0},
		{"star in the target", "user-agent: *\ndisallow: /a%2Ab", "x", "/a*b", false, 2},
		{"stars", "user-agent: *\ndisallow: /a*b*c$", "x", "/abbbc", false, 2},
		{"stars, backwards", "user-agent: *\ndisallow: /a*b*c$", "x", "/acb", true, 0},
		{"merged", "user-agent: x\ndisallow: /a\nuser-agent: y\ndisallow: /\nuser-agent: X/2\ndisallow: /b", "x", "/b", false, 6},
		{"line ends", "\xEF\xBB\xBFuser-agent: *\r\n\rdisallow: /a\r\ndisallow: /b", "x", "/b", false, 4},
		{"two words", "user-agent *\ndisallow /a", "x", "/a", false, 2},
		{"three words", "user-agent *\ndisallow /a b", "x", "/a", true, 0},
		{"NUL", "user-agent: *\ndisallow: /\x00", "x", "/\x00", true, 0},
		{"cut line", "user-agent: *\n" + strings.Repeat("#\n", 250*1024-10) + "disallow: /abcdef", "x", "/abcdef", true, 0},
	} {
		if allowed, line := Allowed([]byte(c.file), c.token, c.target); allowed != c.allowed || line != c.line {
			t.Errorf("%s: %v by line %d, want %v by line %d", c.name, allowed, line, c.allowed, c.line)
		}
	}
}

func TestDelay(t *testing.T) {
	for value, want := range map[string]float64{"2": 2, "0": 0, "1.25": 1.25, "3s x": 3, "2m": 120, "1h": 3600, "1D": 86400, "-1": -1, "": -1, "x": -1, "1.": -1, "1/2": -1, ".5": -1} {
		got, ok := Delay([]byte("user-agent: *\ncrawl-delay: "+value), "x")
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %v, %v; want %v", value, got, ok, want)
		}
	}
	if got, _ := Delay([]byte("user-agent: *\ncrawl-delay: 9\ncrawl-delay: 5\ndisallow: /\nuser-agent: x\nallow: /"), "x"); got != 9 {
		t.Errorf("that of star: %v, want 9", got)
	}
}

func TestRate(t *testing.T) {
	for value, want := range map[string]float64{"1/5": 5, "2/10": 5, " 4 / 1m": 15, "1/2.5": 2.5, "1/5 0900-1700": 5, "3/1": 1. / 3, "1/0": 0, "0/5": -1, "1": -1, "/5": -1, "1.5/5": -1, "-1/5": -1, "x/5": -1, "1/x": -1, "": -1} {
		got, ok := Rate([]byte("user-agent: *\nrequest-rate: "+value), "x")
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %v, %v; want %v", value, got, ok, want)
		}
	}
	const file = "user-agent: *\nrequest-rate: 1/9\nrequest-rate: 1/5\nuser-agent: z\nrequest-rate: 1/3\ndisallow: /\nuser-agent: x\nallow: /\nuser-agent: y\nrequest-rate: 1/2\n"
	for token, want := range map[string]float64{"x": 9, "y": 2, "z": 3, "other": 9} {
		if got, _ := Rate([]byte(file), token); got != want {
			t.Errorf("%s: %v, want %v", token, got, want)
		}
	}
}

func TestNamed(t *testing.T) {
	const file = "\xEF\xBB\xBFUser-agent: Lib-Bot/2.1 # ours\nDisallow: /\nuser agent: curtsy\n\nUser-agent: *\nDisallow: /libbot\n"
	for token, want := range map[string]bool{"lib-bot": true, "LIB-BOT": true, "curtsy": true, "lib": false, "libbot": false, "*": false, "": false} {
		assert.Equal(t, want, Named([]byte(file), token), token)
	}
}

// The oracle is worth something as long as each file can be read at one sitting and leans on nothing.
func TestNaiveIsSmallAndImportsNothing(t *testing.T) {
	// Lines that are empty, comment, or nothing but closing brackets do not count.
	idle := regexp.MustCompile(`^\s*(//.*|[})]*)\s*$`)
	for _, name := range []string{"naive.go", "named.go", "old.go", "rate.go", "rules.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil || len(file.Imports) > 0 {
			t.Errorf("%s: imports: %v, %v", name, file.Imports, err)
		}
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		n := 0
		for line := range strings.Lines(string(source)) {
			if !idle.MatchString(line) {
				n++
			}
		}
		if n > 150 {
			t.Errorf("%s: %d lines of code, want at most 150", name, n)
		}
	}
}
