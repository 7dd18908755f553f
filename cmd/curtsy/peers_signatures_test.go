//go:build peers

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch/webbotauth"
	"curtsy/crawler/foreigntest"
)

// signedMessages has a crawl by a draft recorded, as it crossed loopback, for a verifier in another language.
func signedMessages(t *testing.T, u *lab, draft, directory string) []map[string]any {
	t.Helper()
	web := crawltest.New(flagSite())
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	seed := web.LoopbackURL("bakery.test")
	u.run("crawl", "--quiet", "--delay", "0", "--signature-draft", draft, "--dir", filepath.Join(t.TempDir(), "d"), seed).want(t, cli.ExitDone)
	b, err := os.ReadFile(directory)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for _, r := range web.Referee().Requests() {
		fields := [][2]string{}
		for name, values := range r.Header {
			for _, v := range values {
				fields = append(fields, [2]string{name, v})
			}
		}
		all = append(all, map[string]any{
			"draft": draft, "method": r.Method, "url": strings.TrimSuffix(seed, "/") + r.Target, "fields": fields,
			"at": r.Start.Unix(), "keys": json.RawMessage(b),
		})
	}
	return all
}

// Verifiers that others wrote, npm's http-message-sig and web-bot-auth, verify the requests of crawls by every draft, and
// refuse each of them for another host, at another time, by another key.
func TestPeers_SignaturesAreVerified(t *testing.T) {
	t.Parallel()
	modules := foreigntest.Clients(t, "http-message-sig", "web-bot-auth")
	u, directory := botKey(t)
	var messages []map[string]any
	for _, draft := range webbotauth.Drafts() {
		messages = append(messages, signedMessages(t, u, draft, directory)...)
	}
	input, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	counts := foreignVerdict(t, modules, string(input))
	if want := fmt.Sprintf("%d requests verified, %d by web-bot-auth too\n", len(messages), len(messages)/4); counts != want || len(messages) < 32 {
		t.Errorf("%q, want %q", counts, want)
	}
}

// foreignVerdict runs testdata/webbotauth.mjs.
func foreignVerdict(t *testing.T, modules, input string) string {
	t.Helper()
	return foreignScript(t, modules, "webbotauth.mjs", input)
}

// foreignScript runs a script of testdata where it finds its packages.
func foreignScript(t *testing.T, modules, name, input string, args ...string) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // modules are looked for beside the script
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, script, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", append([]string{path}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// The directory as nginx serves it by the location that is printed, verified by the foreign reader: the octets, the
// fields, and the signature over who was asked.
func TestPeers_NginxServesKeyDirectory(t *testing.T) {
	t.Parallel()
	skipWithout(t, "nginx")
	modules := foreigntest.Clients(t, "http-message-sig", "web-bot-auth")
	u, path := botKey(t)
	root := t.TempDir()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	served := filepath.Join(root, filepath.FromSlash(webbotauth.WellKnown))
	if err := os.MkdirAll(filepath.Dir(served), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(served, body, 0o644); err != nil {
		t.Fatal(err)
	}
	location := u.run("identity", "keygen", "-o", path, "--nginx")
	location.want(t, cli.ExitDone)
	answer := nginxAnswer(t, root, location.out, webbotauth.WellKnown)
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || string(got) != string(body) ||
		answer.Header.Get("Content-Type") != webbotauth.MediaType {
		t.Fatalf("%v, %s, %v: %s", err, answer.Status, answer.Header, got)
	}
	fields := [][2]string{}
	for name, values := range answer.Header {
		fields = append(fields, [2]string{name, values[0]})
	}
	input, err := json.Marshal([]map[string]any{{
		"draft": "directory", "method": "GET", "url": botAgent + webbotauth.WellKnown, "fields": fields,
		"at": time.Now().Unix(), "keys": json.RawMessage(got), "body": string(got),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if out := foreignVerdict(t, modules, string(input)); out != "1 requests verified, 0 by web-bot-auth too\n" {
		t.Error(out)
	}
}

// nginxAnswer is what an nginx with a location of ours answers to one request, which asks for compression.
func nginxAnswer(t *testing.T, root, location, path string) *http.Response {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	dir, user := t.TempDir(), ""
	if os.Geteuid() == 0 {
		user = "user root;"
	}
	config := filepath.Join(dir, "nginx.conf")
	err = os.WriteFile(config, fmt.Appendf(nil, `daemon off; %s pid %[2]s/pid; error_log %[2]s/error.log;
events {}
http {
  include /etc/nginx/mime.types; gzip on; gzip_types *; gzip_min_length 1; access_log off;
  client_body_temp_path %[2]s/b; proxy_temp_path %[2]s/p; fastcgi_temp_path %[2]s/f; uwsgi_temp_path %[2]s/u; scgi_temp_path %[2]s/s;
  server { listen %[3]s; root %[4]s;
%[5]s}
}
`, user, dir, addr, root, location), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("nginx", "-p", dir, "-c", config)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for range 200 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", "gzip")
		if resp, err := http.DefaultTransport.RoundTrip(r); err == nil {
			return resp
		}
		time.Sleep(20 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(dir, "error.log"))
	t.Fatalf("nginx does not answer: %s", log)
	return nil
}
