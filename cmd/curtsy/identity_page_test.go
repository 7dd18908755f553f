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

func TestIdentityInitPublishedAsItIsAgreesWithTheSettings(t *testing.T) {
	home(t, "workers = 3\n")
	p := publishing(t)
	r := p.init(t)
	r.want(t, cli.ExitDone, "curtsy identity check "+p.page(), "curtsy identity set --contact "+p.page())
	want := ""
	for _, name := range []string{"crawler-ranges.json", "agent-card.json", "index.html"} {
		want += filepath.Join(p.dir, name) + "\n"
	}
	if r.out != want {
		t.Errorf("%q, want %q", r.out, want)
	}
	key := strings.TrimSpace(atHome(t, "ledger", "key").out)
	page, err := os.ReadFile(filepath.Join(p.dir, "index.html"))
	for _, s := range []string{"The Library", "A yearly archive.", "crawl@library.org", "Ten years.", "libbot", "192.0.2.16/28", "2001:db8::/48", key} {
		if err != nil || !strings.Contains(string(page), s) {
			t.Errorf("the page lacks %q: %v", s, err)
		}
	}
	path, err := crawldir.UserConfig()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "workers = 3\nagent = 'libbot'\ncontact = 'crawl@library.org'\noperator = 'The Library'\npurpose = 'A yearly archive.'\n" {
		t.Errorf("the configuration is %q, %v", b, err)
	}

	got := p.check(t, "--address", "192.0.2.30")
	got.want(t, cli.ExitDone, "agrees with your settings")
	if !strings.Contains(got.out, "agrees   page   key:\n         "+key+"\n") || strings.Contains(got.out, "differs") || strings.Contains(got.out, "missing") {
		t.Errorf("%s", got.out)
	}
	if p.asked[0] != "/robots.txt" || len(p.asked) != 4 || p.agents[0] != "libbot/"+crawldir.Version+" (+crawl@library.org) curtsy/"+crawldir.Version {
		t.Errorf("asked for %q as %q", p.asked, p.agents)
	}

	// What requests carry can be the page itself; a second init leaves that so, and asks for nothing that it knows.
	atHome(t, "identity", "set", "--contact", "https://www.library.org/bot/").want(t, cli.ExitDone)
	p.check(t).want(t, cli.ExitFound, "1 disagreement")
	again := atHome(t, "identity", "init", "--dir", p.dir, "--url", "https://www.library.org/bot/")
	again.want(t, cli.ExitDone)
	if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), "contact = 'https://www.library.org/bot/'") || strings.Contains(again.err, "identity set") {
		t.Errorf("%s\n%s %v", b, again.err, err)
	}
}

// identity show prints the settings that identity set keeps: the file, then what requests carry. Without a contact it says
// how to set one.
func TestIdentityShow(t *testing.T) {
	home(t, "")
	atHome(t, "identity", "set", "--contact", "crawl@your-domain.org").want(t, cli.ExitUsage, "placeholder of the documentation")
	none := atHome(t, "identity", "show")
	none.want(t, cli.ExitDone, "no contact", "curtsy identity set --contact")
	if !strings.Contains(none.out, "contact     not set\n") {
		t.Errorf("%s", none.out)
	}
	atHome(t, "identity", "set", "--contact", "crawl@library.org", "--operator", "The Library", "--purpose", "An archive.", "--agent", "libbot").want(t, cli.ExitDone)
	path, err := crawldir.UserConfig()
	if err != nil {
		t.Fatal(err)
	}
	agent := "libbot/" + crawldir.Version + " (+crawl@library.org) curtsy/" + crawldir.Version
	text := atHome(t, "identity", "show")
	text.want(t, cli.ExitDone)
	want := "contact     crawl@library.org\noperator    The Library\npurpose     An archive.\nagent       libbot\n" +
		"User-Agent  " + agent + "\nFrom        crawl@library.org\nfile        " + path + "\n"
	if text.out != want || text.err != "" {
		t.Errorf("%s%s", text.out, text.err)
	}
	var got map[string]string
	err = json.Unmarshal([]byte(atHome(t, "identity", "show", "--json").out), &got)
	if err != nil || got["contact"] != "crawl@library.org" || got["user_agent"] != agent || got["file"] != path || got["agent"] != "libbot" {
		t.Errorf("%v: %v", err, got)
	}
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

func TestIdentityCheckReportsRedirectsAndWhoDoesNotAnswer(t *testing.T) {
	home(t, "")
	p := publishing(t)
	p.init(t).want(t, cli.ExitDone)
	p.answers["/crawler"] = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/bot/#us", http.StatusMovedPermanently)
	}
	r := atHome(t, "identity", "check", "--ca-file", p.ca, p.URL+"/crawler")
	r.want(t, cli.ExitDone)
	if !strings.Contains(r.out, "redirected to "+p.page()+"\n") {
		t.Errorf("%s", r.out)
	}
	dead := deadPort(t)
	r = atHome(t, "identity", "check", dead)
	r.want(t, cli.ExitFailed, "the page is unavailable")
	if !strings.Contains(r.out, "connection refused") {
		t.Errorf("%s", r.out)
	}
	p.answers["/robots.txt"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }
	p.check(t).want(t, cli.ExitFailed, "the page is unavailable")
	var out crawlcmd.CheckJSON
	if err := json.Unmarshal([]byte(atHome(t, "identity", "check", "--json", dead).out), &out); err != nil || out.Agree || len(out.Documents) != 1 {
		t.Errorf("%v, %+v", err, out)
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

// Nothing that init did not make is written over, and then nothing else is written either.
func TestIdentityInitWritesOverNothingThatItDidNotMake(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		says       string
	}{
		"a page of theirs":    {"index.html", "<!DOCTYPE html>\n<h1>Welcome</h1>", "not a page of curtsy's making"},
		"a list of theirs":    {"crawler-ranges.json", `{"creationTime":"","prefixes":[]}`, "not a document of curtsy's making"},
		"a card of theirs":    {"agent-card.json", `{"client_name":"x"}`, "not a document of curtsy's making"},
		"a page made by hand": {"index.html", "EDIT", "was changed by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			home(t, "")
			p := publishing(t)
			if c.text == "EDIT" {
				p.init(t).want(t, cli.ExitDone)
				b, err := os.ReadFile(filepath.Join(p.dir, c.file))
				if err != nil {
					t.Fatal(err)
				}
				c.text = strings.Replace(string(b), "A web crawler", "A fine web crawler", 1)
			}
			if err := os.MkdirAll(p.dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(p.dir, c.file), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			before := namesAndSizes(t, p.dir)
			p.init(t, "--retention", "Another.").want(t, cli.ExitUsage, c.says, c.file)
			if after := namesAndSizes(t, p.dir); after != before {
				t.Errorf("there is\n%s\nand was\n%s", after, before)
			}
			if b, _ := os.ReadFile(filepath.Join(p.dir, c.file)); string(b) != c.text {
				t.Errorf("%s was changed", c.file)
			}
		})
	}
}

// namesAndSizes are those of what is in a folder.
func namesAndSizes(t *testing.T, dir string) (all string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all += e.Name() + " " + itoa(int(fi.Size())) + "\n"
	}
	return all
}

func TestIdentityInitSaysWhichAnswersItLacksOrDoesNotTake(t *testing.T) {
	home(t, "")
	dir := filepath.Join(t.TempDir(), "x")
	whole := map[string]string{"--operator": "Ada", "--purpose": "A thesis.", "--contact": "ada@library.org", "--retention": "One year.", "--dir": dir}
	try := func(change map[string]string) result {
		args := []string{"identity", "init"}
		for k, v := range whole {
			if w, ok := change[k]; !ok {
				args = append(args, k, v)
			} else if w != "-" {
				args = append(args, k, w)
			}
		}
		for k, v := range change {
			if whole[k] == "" {
				args = append(args, k, v)
			}
		}
		return atHome(t, args...)
	}
	for _, c := range []struct {
		change map[string]string
		says   string
	}{
		{map[string]string{"--operator": "-", "--retention": "-"}, "no answer to --operator, --retention"},
		{map[string]string{"--purpose": ""}, "--purpose: it is empty"},
		{map[string]string{"--contact": ""}, "--contact: no contact"},
		{map[string]string{"--contact": "ada@example.com"}, "--contact: "},
		{map[string]string{"--contact": "javascript:alert(1)"}, "--contact: "},
		{map[string]string{"--operator": "a\nb"}, `control character '\n'`},
		{map[string]string{"--retention": strings.Repeat("a", 1001)}, "over 1000 characters"},
		{map[string]string{"--agent": "Googlebot"}, "--agent: "},
		{map[string]string{"--url": "library.org"}, "--url: write an http or https URL"},
		{map[string]string{"--url": "https://library.org/?a"}, "--url: "},
		{map[string]string{"--url": "https://library.org/bot", "--contact": "https://library.org/bot"}, "the page needs a contact beside itself"},
		{map[string]string{"--range": "192.0.2.0"}, ""},
		{map[string]string{"--range": "everywhere"}, `--range: ranges: "everywhere" is no network`},
		{map[string]string{"--dir": ""}, "--dir: name a folder"},
	} {
		if c.says == "" {
			try(c.change).want(t, cli.ExitDone)
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			home(t, "")
			continue
		}
		try(c.change).want(t, cli.ExitUsage, c.says)
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%v: something was written", c.change)
		}
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
