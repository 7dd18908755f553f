package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// prints checks the whole of standard output.
func (r result) prints(t *testing.T, want string) {
	t.Helper()
	if r.out != want {
		t.Errorf("standard output:\n%swant:\n%s", r.out, want)
	}
}

// robotsFile writes a robots.txt.
func robotsFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "robots.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const bakeryRobots = "user-agent: *\ndisallow: /*.gif$\nallow: /a\ncrawl-delay: 2\n\nuser-agent: quxbot\ndisallow:\n"

func TestRobotsCheckSaysWhatDecides(t *testing.T) {
	t.Parallel()
	file := robotsFile(t, bakeryRobots)
	r := inside(t, "robots", "check", "--file", file, "https://bakery.test/a.gif", "https://bakery.test/b", "https://bakery.test/abc?d.gif#e")
	r.want(t, cli.ExitFound)
	r.prints(t, ""+
		"VERDICT     LINE  RULE               RUNNER-UP  DELAY  URL\n"+
		"disallowed  2     disallow: /*.gif$  allow: /a  2s     https://bakery.test/a.gif\n"+
		"allowed     -     (no match)         -          2s     https://bakery.test/b\n"+
		"disallowed  2     disallow: /*.gif$  allow: /a  2s     https://bakery.test/abc?d.gif\n")
	inside(t, "robots", "check", "--file", file, "--agent", "QuxBot", "https://bakery.test/a.gif").want(t, cli.ExitDone)
}

func TestRobotsCheckSideBySide(t *testing.T) {
	t.Parallel()
	r := fed(t, bakeryRobots, "robots", "check", "--file", "-", "--all-standards", "https://bakery.test/a.gif", "https://bakery.test/")
	r.want(t, cli.ExitFound)
	r.prints(t, ""+
		"https://bakery.test/a.gif\n"+
		"  standard   rfc9309            draft1996   std1994\n"+
		"  verdict    disallowed         allowed     allowed\n"+
		"  reason     disallow rule      allow rule  no match\n"+
		"  line       2                  3           -\n"+
		"  rule       disallow: /*.gif$  allow: /a   -\n"+
		"  runner-up  allow: /a          -           -\n"+
		"  group      *                  *           *\n"+
		"  delay      2s                 2s          2s\n"+
		"\n"+
		"https://bakery.test/\n"+
		"  standard   rfc9309   draft1996  std1994\n"+
		"  verdict    allowed   allowed    allowed\n"+
		"  reason     no match  no match   no match\n"+
		"  line       -         -          -\n"+
		"  rule       -         -          -\n"+
		"  runner-up  -         -          -\n"+
		"  group      *         *          *\n"+
		"  delay      2s        2s         2s\n")
}

func TestRobotsCheckAsJSON(t *testing.T) {
	t.Parallel()
	r := fed(t, "user-agent: *\ndisallow: /a&\n", "robots", "check", "--file", "-", "--json", "http://bakery.test/a&b", "http://bakery.test/")
	r.want(t, cli.ExitFound)
	const digest = `"sha256":"c43f2bc9f25b29c7be2cfa03b9c6e6f8"`
	got := regexp.MustCompile(`"sha256":"[0-9a-f]{64}"`).ReplaceAllString(r.out, digest)
	result{out: got}.prints(t, ""+
		`{"url":"http://bakery.test/a&b","agent":"curtsy","robots_txt":"-",`+digest+`,"verdicts":[{"standard":"rfc9309","allow":false,"reason":"disallow rule","line":2,"rule":"disallow: /a&","group":"*","runner_up":"","delay_s":null}]}`+"\n"+
		`{"url":"http://bakery.test/","agent":"curtsy","robots_txt":"-",`+digest+`,"verdicts":[{"standard":"rfc9309","allow":true,"reason":"no match","line":0,"rule":"","group":"*","runner_up":"","delay_s":null}]}`+"\n")
}

// A rule may hold what a terminal would obey.
func TestRobotsCheckEscapesHostileText(t *testing.T) {
	t.Parallel()
	body := "user-agent: *\ndisallow: /\xC2\x9B2J\t\u202Egnp\n"
	for _, args := range [][]string{
		{"robots", "check", "--file", "-", "http://bakery.test/%C2%9B2J%09%E2%80%AEgnp"},
		{"robots", "lint", "-"},
		{"robots", "diff", os.DevNull, "-"},
	} {
		r := fed(t, body, args...)
		r.want(t, cli.ExitFound)
		if strings.ContainsAny(r.out, "\u009B\u202E\x1B") {
			t.Errorf("%v: %q", args, r.out)
		}
	}
}

// URLs are judged as they would be sent: "\" is "/", dot segments are gone, and nothing else is touched.
func TestRobotsCheckJudgesTheOctetsThatWouldBeSent(t *testing.T) {
	t.Parallel()
	body := "user-agent: *\ndisallow: /a%2Fb\ndisallow: /c/d\ndisallow: /q?b=1&a=2\n"
	for url, code := range map[string]int{
		`http://bakery.test/a%2fb"`: cli.ExitFound, "http://bakery.test/a/b": cli.ExitDone,
		`http://bakery.test\c\d`: cli.ExitFound, "http://bakery.test/x/../c/%2e/d": cli.ExitFound,
		"http://bakery.test/q?b=1&a=2": cli.ExitFound, "http://bakery.test/q?a=2&b=1": cli.ExitDone,
		"http://bakery.test/robots.txt": cli.ExitDone,
	} {
		fed(t, body, "robots", "check", "--file", "-", url).want(t, code)
	}
}

func TestRobotsUsage(t *testing.T) {
	t.Parallel()
	file := robotsFile(t, "")
	for says, args := range map[string][]string{
		"no URL to judge":          {"check"},
		"did you mean check?":      {"chekc"},
		"give one of them":         {"check", "--file", file, "--url", "http://bakery.test/robots.txt", "http://bakery.test/"},
		"octet 4":                  {"check", "--file", file, "--agent", "bot/2", "http://bakery.test/"},
		`no standard "rfc9308"`:    {"check", "--file", file, "--robots-standard", "rfc9308", "http://bakery.test/"},
		"has no scheme":            {"check", "--file", file, "bakery"},
		"--url":                    {"check", "--url", "bakery", "http://bakery.test/"},
		"--batch takes everything": {"check", "--batch", "http://bakery.test/"},
		"identity set":             {"check", "http://bakery.test/"},
		"--allow-net":              {"check", "--allow-net", "x", "http://127.0.0.1/"},
		"did you mean --file?":     {"check", "--fiel", file, "http://bakery.test/"},
		"accepts 1 arg":            {"lint"},
		"at least 2 arg":           {"diff", file},
		"scheme":                   {"diff", file, file, "ftp://bakery.test/"},
		"one of the files":         {"diff", "-", "-"},
		"--robots-standard: there": {"diff", "--robots-standard", "", file, file},
	} {
		inside(t, append([]string{"robots"}, args...)...).want(t, cli.ExitUsage, says)
	}
}

func TestRobots_MissingFileIsUsage(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{{"check", "--file", none, "http://bakery.test/"}, {"lint", none}, {"diff", none, os.DevNull}, {"diff", os.DevNull, none}} {
		inside(t, append([]string{"robots"}, args...)...).want(t, cli.ExitUsage, "robots.txt: there is no "+none)
	}
}

// asked is a server that answers robots.txt as a test wants, and remembers what it was asked.
type asked struct {
	*httptest.Server
	mu     sync.Mutex
	paths  []string
	agents []string
}

func serve(t *testing.T, answer http.HandlerFunc) *asked {
	a := &asked{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.paths, a.agents = append(a.paths, r.URL.Path), append(a.agents, r.UserAgent())
		a.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

func TestRobotsCheckFetchesAsACrawlWould(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("user-agent: Googlebot\ndisallow: /private/\n"))
	})
	r := inside(t, "robots", "check", "--agent", "Googlebot", "--all-standards", s.URL+"/private/", s.URL+"/public/")
	r.want(t, cli.ExitFound)
	if len(s.paths) != 1 || s.paths[0] != "/robots.txt" {
		t.Errorf("asked for %q, want robots.txt once", s.paths)
	}
	// The question is about Googlebot; who asks is curtsy.
	if want := "curtsy/" + crawldir.Version; s.agents[0] != want {
		t.Errorf("User-Agent %q, want %q", s.agents[0], want)
	}
	inside(t, "robots", "check", s.URL+"/private/").want(t, cli.ExitDone)
}

func TestRobotsCheckTakesAStatusForWhatItMeans(t *testing.T) {
	t.Parallel()
	status := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	for _, row := range []struct {
		status   int
		standard string
		code     int
		says     string
	}{
		{204, "rfc9309", cli.ExitDone, ""}, {404, "rfc9309", cli.ExitDone, ""}, {403, "rfc9309", cli.ExitDone, ""},
		{403, "draft1996", cli.ExitFound, ""}, {403, "std1994", cli.ExitDone, ""},
		{503, "rfc9309", cli.ExitFailed, "is unavailable: status 503; nothing may be fetched"},
		{429, "rfc9309", cli.ExitFailed, "status 429"}, {500, "draft1996", cli.ExitFailed, "status 500"},
	} {
		status = row.status
		r := inside(t, "robots", "check", "--robots-standard", row.standard, s.URL+"/a")
		r.want(t, row.code, row.says)
		if word := map[int]string{cli.ExitDone: "allowed "}[row.code]; !strings.Contains(r.out, word) {
			t.Errorf("status %d, %s: %s", row.status, row.standard, r.out)
		}
	}
}

func TestRobotsCheckFollowsRedirects(t *testing.T) {
	t.Parallel()
	other := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("user-agent: *\ndisallow: /a\n")) })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		next := map[string]string{"/robots.txt": "/1", "/1": "/2", "/2": "/3", "/3": "/4", "/4": other.URL + "/there.txt"}[r.URL.Path]
		http.Redirect(w, r, next, http.StatusFound)
	})
	// Only the address that the user wrote out is free of the guard.
	inside(t, "robots", "check", s.URL+"/a").want(t, cli.ExitFailed, "private address (see --allow-net)")
	if len(other.paths) > 0 {
		t.Errorf("the guard was passed: %q", other.paths)
	}
	r := inside(t, "robots", "check", "--allow-net", "127.0.0.0/8", s.URL+"/a", s.URL+"/b")
	r.want(t, cli.ExitFound)
	if !strings.Contains(r.out, "disallow: /a") || len(other.paths) != 1 {
		t.Errorf("%s; asked %q", r.out, other.paths)
	}
	loop := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/robots.txt", http.StatusFound) })
	inside(t, "robots", "check", loop.URL+"/a").want(t, cli.ExitFailed, "redirect loop")
}

func TestRobotsCheckOfAnotherURL(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("user-agent: *\ndisallow: /a\n")) })
	r := inside(t, "robots", "check", "--json", "--url", s.URL+"/drafts/robots.txt?v=2", "https://bakery.test/a", "https://bakery.test/b")
	r.want(t, cli.ExitFound)
	if len(s.paths) != 1 || s.paths[0] != "/drafts/robots.txt" || !strings.Contains(r.out, `"robots_txt":"`+s.URL+`/drafts/robots.txt?v=2"`) {
		t.Errorf("asked for %q: %s", s.paths, r.out)
	}
}

// That one robots.txt is not to be had does not hide what others say; the exit code tells of the worse.
func TestRobotsCheckOfSeveralHosts(t *testing.T) {
	t.Parallel()
	down := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	up := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("user-agent: *\ndisallow: /a\n")) })
	r := inside(t, "robots", "check", up.URL+"/a", down.URL+"/a", down.URL+"/b", up.URL+"/b")
	r.want(t, cli.ExitFailed, down.URL+"/robots.txt is unavailable: status 502")
	if lines := strings.Split(r.out, "\n"); len(lines) != 6 || strings.Count(r.err, "\n") != 1 || !strings.HasPrefix(lines[4], "allowed ") {
		t.Errorf("%s%s", r.out, r.err)
	}
}
