package main

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/fetch/webbotauth"
)

// publisher serves a folder below /bot/ over TLS; what is in answers stands before it.
type publisher struct {
	*httptest.Server
	dir     string
	ca      string // the file of its certificate
	answers map[string]http.HandlerFunc
	asked   []string
	agents  []string
}

func publishing(t *testing.T) *publisher {
	t.Helper()
	p := &publisher{dir: filepath.Join(t.TempDir(), "public"), answers: map[string]http.HandlerFunc{}}
	files := http.StripPrefix("/bot/", http.FileServer(http.Dir(p.dir)))
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked, p.agents = append(p.asked, r.URL.Path), append(p.agents, r.UserAgent())
		switch answer, ok := p.answers[r.URL.Path]; {
		case ok:
			answer(w, r)
		case strings.HasPrefix(r.URL.Path, "/bot/"):
			files.ServeHTTP(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(p.Close)
	p.ca = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	if err := os.WriteFile(p.ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *publisher) page() string { return p.URL + "/bot/" }

// init writes what is published, as a library that answers everything by flags.
func (p *publisher) init(t *testing.T, more ...string) result {
	t.Helper()
	return atHome(t, append([]string{
		"identity", "init", "--dir", p.dir, "--url", p.page(), "--operator", "The Library", "--purpose", "A yearly archive.",
		"--contact", "crawl@library.org", "--retention", "Ten years.", "--agent", "libbot", "--range", "192.0.2.17/28,2001:db8::/48",
	}, more...)...)
}

func (p *publisher) check(t *testing.T, more ...string) result {
	t.Helper()
	return atHome(t, append([]string{"identity", "check", "--ca-file", p.ca, p.page()}, more...)...)
}

func TestIdentityCheckFindsEachDisagreement(t *testing.T) {
	file := func(name, old, new string) func(*testing.T, *publisher) []string {
		return func(t *testing.T, p *publisher) []string {
			path := filepath.Join(p.dir, name)
			b, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(b), old) {
				t.Fatalf("%s has no %q: %v", path, old, err)
			}
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(b), old, new)), 0o600); err != nil {
				t.Fatal(err)
			}
			return nil
		}
	}
	command := func(args ...string) func(*testing.T, *publisher) []string {
		return func(t *testing.T, p *publisher) []string {
			atHome(t, args...).want(t, cli.ExitDone)
			return nil
		}
	}
	kept := func(args ...string) func(*testing.T, *publisher) []string { // other answers, whose page stands elsewhere
		return func(t *testing.T, p *publisher) []string {
			atHome(t, append([]string{"identity", "init", "--dir", filepath.Join(t.TempDir(), "x")}, args...)...).want(t, cli.ExitDone)
			return nil
		}
	}
	answer := func(path string, h http.HandlerFunc) func(*testing.T, *publisher) []string {
		return func(_ *testing.T, p *publisher) []string { p.answers[path] = h; return nil }
	}
	says := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); _, _ = w.Write([]byte(body)) }
	}
	for name, c := range map[string]struct {
		change func(*testing.T, *publisher) []string // returns further arguments
		says   string
	}{
		"contact":       {kept("--contact", "ask@library.org"), "differs  page   contact\n"},
		"sent contact":  {command("identity", "set", "--contact", "x@library.org"), "differs  page   contact of requests\n"},
		"token":         {command("identity", "set", "--agent", "otherbot"), "differs  page   token\n"},
		"operator":      {command("identity", "set", "--operator", "Nobody"), "differs  page   operator\n"},
		"purpose":       {command("identity", "set", "--purpose", "Profit."), "differs  page   purpose\n"},
		"verifier key":  {command("ledger", "key", "--rotate"), "differs  page   key\n"},
		"retention":     {kept("--retention", "For good."), "differs  page   retention\n"},
		"ranges":        {kept("--range", "192.0.2.16/28"), "differs  ranges ranges\n"},
		"no ranges":     {kept("--range", "none"), "differs  ranges ranges\n"},
		"ranges, wrong": {file("crawler-ranges.json", "192.0.2.16/28", "192.0.2.16/29"), "differs  ranges ranges\n"},
		"address": {func(*testing.T, *publisher) []string { return []string{"--address", "192.0.2.16,198.51.100.7"} },
			"missing  ranges address\n         settings:  198.51.100.7\n"},
		"no list": {answer("/bot/crawler-ranges.json", says(404, "")), "missing  ranges document\n         status 404\n"},
		"no card": {answer("/bot/agent-card.json", says(500, "")), "missing  card   document\n         status 500\n"},
		"a card elsewhere": {answer("/bot/agent-card.json", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/bot/", http.StatusMovedPermanently)
		}), "differs  card   document\n"},
		"card, wrong":  {file("agent-card.json", `"libbot"`, `"otherbot"`), "differs  card   token\n"},
		"no page":      {answer("/bot/", says(404, "")), "missing  page   document\n         status 404\n"},
		"no such page": {answer("/bot/", says(200, "<title>\x1b[2J\u202e</title>")), "missing  page   token\n"},
		"robots.txt":   {answer("/robots.txt", says(200, "User-agent: libbot\nDisallow: /bot/\n")), "line 2 of its host's robots.txt forbids it to libbot"},
		"huge":         {answer("/bot/", says(200, strings.Repeat("a", 600<<10))), "it is larger than 500KiB"},
		"circle":       {answer("/bot/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/bot/", http.StatusFound) }), "more than 5 redirects"},
		"inwards": {answer("/bot/", says(200, `<link rel=client-ranges href="http://169.254.169.254/latest/meta-data/"><link rel=describedby href="http://127.0.0.2:9/">`)),
			"its host's robots.txt is unavailable: its address is not public"},
	} {
		t.Run(name, func(t *testing.T) {
			home(t, "")
			p := publishing(t)
			p.init(t).want(t, cli.ExitDone)
			more := c.change(t, p)
			r := p.check(t, more...)
			r.want(t, cli.ExitFound)
			if !strings.Contains(strings.Join(strings.Fields(r.out), " "), strings.Join(strings.Fields(c.says), " ")) || strings.ContainsAny(r.out, "\x1b\u202e") {
				t.Errorf("it lacks %q:\n%s", c.says, r.out)
			}
			for line := range strings.Lines(r.out) {
				if n := len([]rune(line)); n > 81 && !strings.Contains(line, "://") && !strings.Contains(line, "curtsy-") {
					t.Errorf("a line of %d columns: %s", n, line)
				}
			}
			var out crawlcmd.CheckJSON
			j := p.check(t, append(more, "--json")...)
			if err := json.Unmarshal([]byte(j.out), &out); err != nil || j.code != cli.ExitFound || out.Version != 1 || out.Agree || len(out.Checks) == 0 {
				t.Errorf("%v, exit code %d: %s", err, j.code, j.out)
			}
		})
	}
}

// The card names where the keys of signed requests are published, and check looks whether the right one is there.
func TestIdentityCheckLooksForTheKeyThatRequestsAreSignedWith(t *testing.T) {
	home(t, "")
	p := publishing(t)
	directory := filepath.Join(t.TempDir(), "directory")
	atHome(t, "identity", "keygen", "--signature-agent", p.URL, "-o", directory).want(t, cli.ExitDone)
	p.init(t).want(t, cli.ExitDone)
	r := p.check(t)
	r.want(t, cli.ExitFound, "1 disagreement")
	if !strings.Contains(r.out, "agrees   card   jwks_uri:\n         "+p.URL+webbotauth.WellKnown+"\n") || !strings.Contains(r.out, "missing  keys   document\n") {
		t.Errorf("%s", r.out)
	}
	p.answers[webbotauth.WellKnown] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", webbotauth.MediaType)
		http.ServeFile(w, r, directory)
	}
	r = p.check(t)
	r.want(t, cli.ExitDone)
	if !strings.Contains(r.out, "agrees   keys   keys: ") || strings.Contains(r.out, "requests are not signed") {
		t.Errorf("%s", r.out)
	}
	path, err := crawldir.BotKey.Path()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("7", 64)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r = p.check(t)
	r.want(t, cli.ExitFound, "1 disagreement")
	if !strings.Contains(r.out, "differs  keys   keys\n") {
		t.Errorf("%s", r.out)
	}
}

// What is kept can be mended by hand, and a mistake there is named.
func TestKeptAnswersWithAMistakeAreNamed(t *testing.T) {
	for text, says := range map[string]string{
		"url = 3\n": "identity.toml cannot be read", "x = 'y'\n": "line 1 has an unknown key", "url = 'a\n": "identity.toml cannot be read: line 1",
		"ranges = ['a']\n": `"a" is no network`, "url = 'library.org'\n": "write an http or https URL",
	} {
		home(t, "")
		path, err := crawldir.UserConfig()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "identity.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		atHome(t, "identity", "check", "http://127.0.0.1:9/").want(t, cli.ExitUsage, says)
		atHome(t, "identity", "init", "--dir", filepath.Join(t.TempDir(), "x")).want(t, cli.ExitUsage, says)
	}
	home(t, "")
	atHome(t, "identity", "check", "http://127.0.0.1:9/").want(t, cli.ExitUsage, "begin with curtsy identity init")
	atHome(t, "identity", "check", "--address", "x", "--contact", "a@library.org", "http://127.0.0.1:9/").want(t, cli.ExitUsage, "--address")
	atHome(t, "identity", "check", "library").want(t, cli.ExitUsage, "library")
}
