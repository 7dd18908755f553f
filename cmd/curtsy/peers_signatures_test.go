//go:build peers

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/fetch/webbotauth"
	"curtsy/crawler/foreigntest"
)

// signedMessages records the requests of a crawl for a verifier in another language.
func signedMessages(t *testing.T, u *lab, draft, directory string) []map[string]any {
	t.Helper()
	web := webOf(t, flagSite())
	seed := web.LoopbackURL("bakery.test")
	u.run("crawl", "--quiet", "--delay", "0", "--signature-draft", draft, "--dir", filepath.Join(t.TempDir(), "d"), seed).want(t, cli.ExitDone)
	b := fileOf(t, directory)
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

// npm's http-message-sig and web-bot-auth verify the requests of crawls by every draft, and refuse each for another host, time or
// key.
func TestPeers_SignaturesAreVerified(t *testing.T) {
	t.Parallel()
	modules := foreigntest.Clients(t, "http-message-sig", "web-bot-auth")
	u, directory := botKey(t)
	var messages []map[string]any
	for _, draft := range webbotauth.Drafts() {
		messages = append(messages, signedMessages(t, u, draft, directory)...)
	}
	input, err := json.Marshal(messages)
	require.NoError(t, err)
	counts := foreignScript(t, modules, "webbotauth.mjs", string(input))
	if want := fmt.Sprintf("%d requests verified, %d by web-bot-auth too\n", len(messages), len(messages)/4); counts != want || len(messages) < 32 {
		t.Errorf("%q, want %q", counts, want)
	}
}

// foreignScript runs a script of testdata with its packages.
func foreignScript(t *testing.T, modules, name, input string, args ...string) string {
	t.Helper()
	script := fileOf(t, filepath.Join("testdata", name))
	dir := t.TempDir() // modules are looked for beside the script
	require.NoError(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, script, 0o600))
	cmd := exec.CommandContext(t.Context(), "node", append([]string{path}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// The foreign verifier accepts the directory that nginx serves by the printed location: bytes, fields and signature.
func TestPeers_NginxServesKeyDirectory(t *testing.T) {
	t.Parallel()
	skipWithout(t, "nginx")
	modules := foreigntest.Clients(t, "http-message-sig", "web-bot-auth")
	u, path := botKey(t)
	root := t.TempDir()
	body := fileOf(t, path)
	served := filepath.Join(root, filepath.FromSlash(webbotauth.WellKnown))
	require.NoError(t, os.MkdirAll(filepath.Dir(served), 0o755))
	require.NoError(t, os.WriteFile(served, body, 0o644))
	location := u.run("identity", "keygen", "-o", path, "--nginx")
	location.want(t, cli.ExitDone)
	nginx := serveFiles(t, root, "gzip on; gzip_types *; gzip_min_length 1;\n"+location.out)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+nginx.addr+webbotauth.WellKnown, nil)
	require.NoError(t, err)
	r.Header.Set("Accept-Encoding", "gzip") // nginx must not compress signed data
	answer, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
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
	require.NoError(t, err)
	assert.Equal(t, "1 requests verified, 0 by web-bot-auth too\n", foreignScript(t, modules, "webbotauth.mjs", string(input)))
}
