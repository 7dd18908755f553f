package leaks

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

// observe crawls twice, and collects the output of every command.
func observe(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	host := w.own.URL + "/"
	w.run(t, "log json", append([]string{"mirror", "--dir", w.dir, "--log", "json", "--scope", "any", "--max-pages", "100", "--max-time", "10m",
		"--sitemaps", "robots", host}, w.args...)...)
	if _, err := os.Stat(w.dir); err != nil {
		t.Fatalf("%s", w.seen["log json"])
	}
	w.run(t, "log text", "update", w.dir)
	w.seen["files"] = below(t, w.dir)
	for name, folder := range map[string]string{"warc": "warc", "ledger": "ledger", "index": "index", "mirror": "mirror"} {
		w.seen[name] = belowOf(t, filepath.Join(w.dir, folder))
	}
	w.seen["crawl.toml"], _ = os.ReadFile(filepath.Join(w.dir, "crawl.toml"))
	w.seen["frontier.db"], _ = os.ReadFile(filepath.Join(w.dir, "frontier.db"))
	w.run(t, "status", "status", w.dir)
	w.run(t, "status", "status", "--json", w.dir)
	for _, path := range []string{"", "echo", "to-port"} {
		w.run(t, "explain", "explain", w.dir, host+path)
		w.run(t, "explain", "explain", "--json", w.dir, host+path)
	}
	w.run(t, "config show", "config", "show", "--origin", w.dir)
	w.run(t, "config show", append([]string{"config", "show", "--origin"}, w.args...)...)
	w.run(t, "audit", "audit", w.dir)
	w.run(t, "audit", "audit", "--json", w.dir)
	w.run(t, "report", "report", "--json", w.dir)
	w.run(t, "report host", "report", "--host", "127.0.0.1", "-o", filepath.Join(w.home, "host.html"), w.dir)
	w.seen["report host"] = append(w.seen["report host"], belowOf(t, filepath.Join(w.home, "host.html"))...)
	w.seen["report html"], _ = os.ReadFile(filepath.Join(w.dir, "report.html"))
	w.run(t, "wacz", "export", "--format", "wacz", "-q", "-o", filepath.Join(w.home, "d.wacz"), w.dir)
	w.seen["wacz"] = belowOf(t, filepath.Join(w.home, "d.wacz"))
	w.run(t, "bundle", "ledger", "prove", "--host", "127.0.0.1", "-o", filepath.Join(w.home, "b.zip"), w.dir)
	w.seen["bundle"] = belowOf(t, filepath.Join(w.home, "b.zip"))
	w.run(t, "export", "export", "--format", "csv", "--tables", "pages,text,links,decisions,hosts,errors,headers", "-o", filepath.Join(w.home, "tables"), w.dir)
	w.seen["export"] = belowOf(t, filepath.Join(w.home, "tables"))
	w.run(t, "frontier export", "frontier", "export", w.dir)
	w.run(t, "changes", "diff", "--json", w.dir)
	w.run(t, "check", append([]string{"linkcheck", "--json", "--dir", filepath.Join(w.home, "check"), "--external", "head", host}, w.args...)...)
	w.page(t, map[string]string{"dashboard": "/crawl/0/", "decisions": "/crawl/0/decisions", "metrics": "/metrics"}, "dashboard", w.dir)
	w.run(t, "refused", "crawl", "--dir", filepath.Join(w.home, "r1"), "--auth", "www.library.org="+filepath.Join(w.home, "auth"), "https://www.library.org/")
	w.run(t, "typed", "crawl", "--dir", filepath.Join(w.home, "r2"), "--header", w.own.URL+"=X-Api-Key: "+token, host)
	w.run(t, "dial", append([]string{"crawl", "--dir", filepath.Join(w.home, "r3"), "--max-wait", "0s", "--auth", "http://127.0.0.1:1=" + filepath.Join(w.home, "auth"),
		"http://127.0.0.1:1/"}, w.args...)...)
	for _, path := range []string{"malformed", "cut"} { // the host rests after each
		dir := filepath.Join(w.home, path)
		w.run(t, "failed", append([]string{"crawl", "--dir", dir, "--log", "json", "--max-wait", "0s", "--scope", "seeds", host + path}, w.args...)...)
		w.run(t, "failed", "explain", dir, host+path)
		w.seen["failed"] = append(w.seen["failed"], below(t, dir)...)
	}
	w.crash(t)
	return w
}

func belowOf(t *testing.T, path string) []byte {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	return below(t, path)
}

// TestCredentials_AreNotStored has a rule for each way out: the place to search, and a mark that must be there.
func TestCredentials_AreNotStored(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its crash is a signal")
	}
	w := observe(t)
	if n := bytes.Count(w.own.received("/"), []byte(basic())); n < 1 {
		t.Fatalf("the site itself got no credentials: %s\n%s", w.own.received(""), w.seen["log json"])
	}
	for _, tt := range []struct{ name, mark, place string }{
		{"in the request record of the archive they are masked", "Authorization: (masked)\r\nX-Api-Key: (masked)\r\nCookie: (masked)", "warc"},
		{"the warcinfo record has only the names of the fields", "credentials: " + w.own.URL + ": Authorization, X-Api-Key, Cookie", "warc"},
		{"the metadata of records has none", "headsSha256: ", "warc"},
		{"an answer with them in its body is not stored", "WARC-Target-URI: " + w.own.URL + "/echo\r\n", "warc"},
		{"an answer with them below a content coding is not stored", "WARC-Target-URI: " + w.own.URL + "/echo-gzip\r\n", "warc"},
		{"an answer with them in its head is not stored", "WARC-Target-URI: " + w.own.URL + "/echo-head\r\n", "warc"},
		{"the ledger and its checkpoints have none", w.own.URL + "/echo-head", "ledger"},
		{"the error of an answer that is not HTTP quotes none", "/malformed", "failed"},
		{"the error of an answer that was cut quotes none", "/cut", "failed"},
		{"the index of the archive has none", "came-back", "index"},
		{"the files of a mirror have none", "came back", "mirror"},
		{"the settings of the crawl have the names of files", "auth = [", "crawl.toml"},
		{"the frontier's file has none", "127.0.0.1", "frontier.db"},
		{"no other file of the crawl directory has any", "checkpoint", "files"},
		{"the log as JSON has none", `"level"`, "log json"},
		{"the log as text has none", "audit", "log text"},
		{"the status has none", "fetched", "status"},
		{"an explanation has none", "/echo", "explain"},
		{"config show has the names of files", "auth", "config show"},
		{"the audit names the host and no value", "credentials (Authorization, X-Api-Key, Cookie)", "audit"},
		{"the report as JSON has none", "127.0.0.1", "report"},
		{"the report as a page has none", "127.0.0.1", "report html"},
		{"the report for a host has none", "127.0.0.1", "report host"},
		{"a WACZ file and its members have none", "(masked)", "wacz"},
		{"the bundle for a site's owner has none", "(masked)", "bundle"},
		{"the tables have none", "came-back", "export"},
		{"the export of the frontier has none", "/echo-location", "frontier export"},
		{"the list of changes has none", `"`, "changes"},
		{"the check of links has none", "/missing", "check"},
		{"the live page has none", "status 200", "dashboard"},
		{"its list of decisions has none", "status 200", "decisions"},
		{"the metrics have none", "status 200", "metrics"},
		{"the refusal of a host that is not own has none", "add --own-site www.library.org", "refused"},
		{"the error of a connection that fails has none", "127.0.0.1:1", "dial"},
		{"the command line of the process has none", "--auth", "cmdline"},
		{"the environment of the process has none", "HOME=", "environ"},
		{"the trace of a crash has none", "goroutine ", "trace"},
		{"files left by a kill have none", "frontier.db", "killed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w.silent(t, tt.mark, w.seen[tt.place])
		})
	}
	for _, tt := range []struct {
		name, mark string
		head       []byte
	}{
		{"a redirect to another host carries none", "GET /by-redirect", w.host.received("/by-redirect")},
		{"a redirect to another port carries none", "GET /by-redirect", w.port.received("/by-redirect")},
		{"a redirect to another scheme carries none", "GET /by-redirect", w.scheme.received("/by-redirect")},
		{"a chain of redirects that returns carries none on its way", "GET /there", w.port.received("/there")},
		{"the robots.txt of another host is requested without", "GET /robots.txt", w.host.received("/robots.txt")},
		{"another host's robots.txt that redirects to the own host is requested without", "GET /robots-of-others.txt", w.own.received("/robots-of-others.txt")},
		{"the robots.txt of the own host is requested without", "GET /robots.txt", w.own.received("/robots.txt")},
		{"a page requisite on another port is requested without", "GET /picture.png", w.port.received("/picture.png")},
		{"a sitemap on another port is requested without", "GET /map.xml", w.port.received("/map.xml")},
		{"a link to another host is followed without", "GET /linked", w.host.received("/linked")},
		{"a redirect that repeats one is not followed: another port gets none at all", "GET /", w.port.received("")},
		{"another host gets none at all", "GET /", w.host.received("")},
		{"another scheme gets none at all", "GET /", w.scheme.received("")},
	} {
		t.Run(tt.name, func(t *testing.T) { w.silent(t, tt.mark, tt.head) })
	}
	t.Run("the refusal of a value on the command line does not repeat it", func(t *testing.T) {
		w.silent(t, "into a file that only you can read", w.seen["typed"])
	})
}

// silent fails if b has a secret, or lacks the mark.
func (w *world) silent(t *testing.T, mark string, b []byte) {
	t.Helper()
	assert.Truef(t, has(b, mark, 3), "%q is missing, so the search proves nothing: %.3000q", mark, b)
	assert.Empty(t, leaked(b, 3), "secrets are there")
}
