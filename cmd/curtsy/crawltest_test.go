package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
)

// oursPolite runs curtsy on the scoreboard with the delays of third-party hosts, on loopback.
var oursPolite = []string{
	"crawl", "--dir", "{dir}", "--scope", "any", "--max-time", "4m", "--max-wait", "25s", "--max-body", "16MiB",
	"--own-site", "none", "--ip-delay", "100ms", "--allow-net", "127.0.0.0/8", "--contact", "https://crawler-contact.org/bot", "{seed}",
}

// scoredAs runs crawltest score with an environment, and reads its JSON.
func scoredAs(t *testing.T, env []string, args ...string) (scoreJSON, result) {
	t.Helper()
	one := curtsy(t, append([]string{"crawltest", "score", "--json"}, args...)...)
	cmd := exec.CommandContext(t.Context(), one.Path, one.Args[1:]...) // without the time limit: other crawlers are slow
	cmd.Env = append(one.Env, env...)
	r := ended(t, cmd)
	var score scoreJSON
	if err := json.Unmarshal([]byte(r.out), &score); err != nil {
		t.Fatalf("%v: %s\n%s", err, r.out, r.err)
	}
	return score, r
}

func verdictsOf(s scoreJSON) map[string][]string {
	m := map[string][]string{}
	for _, r := range s.Rules {
		m[r.Verdict] = append(m[r.Verdict], r.Rule)
	}
	return m
}

// curtsy over sockets breaks no rule in real time, and the audit agrees. In full size every row is shown; package crawler has the
// others in virtual time.
func TestScore_CurtsyPassesAll(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as politeness does")
	}
	t.Parallel()
	config, dir, keys := t.TempDir(), filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "keys")
	env := []string{"XDG_CONFIG_HOME=" + config, "HOME=" + config, "AppData=" + config}
	made := curtsy(t, "identity", "keygen", "--signature-agent", botAgent, "-o", keys)
	made.Env = append(made.Env, env...)
	ended(t, made).want(t, cli.ExitDone)
	own := []string{"--keys", keys, "--token", "curtsy"}
	crawl := append([]string{"--", os.Args[0]}, oursPolite...)
	crawl[slices.Index(crawl, "{dir}")] = dir
	if full() {
		own = append(own, "--all-hostile", "--timeout", "6m")
	} else {
		own = append(own, "--rules", "identity,contact,signatures,cookies,get and head,robots.txt first,robots.txt cached,pace,one request,crawl ends")
		crawl = slices.Insert(crawl, len(crawl)-1, "--max-pages", "60")
	}
	score, r := scoredAs(t, env, append(own, crawl...)...)
	r.want(t, cli.ExitDone)
	assert.GreaterOrEqualf(t, len(score.Rules), 10, "only %d rules", len(score.Rules))
	shown := []string{"identity", "signatures", "contact", "robots.txt first", "pace of 1 s"} // by any 60 pages
	for _, rule := range score.Rules {
		if rule.Verdict != "pass" && (full() || rule.Verdict != "not shown" || slices.Contains(shown, rule.Rule)) {
			t.Errorf("%s: %s: %s", rule.Rule, rule.Verdict, rule.Evidence)
		}
	}
	clean(t, dir)
}

func TestCrawltestServe_PrintsCommand(t *testing.T) {
	t.Parallel()
	board, err := startBoard("curtsy", "", false)
	require.NoError(t, err)
	defer board.Close()
	var out strings.Builder
	require.NoError(t, writeBoard(&out, board.Web, board.Seed(), tryCrawl))
	_, command, _ := strings.Cut(out.String(), "try   curtsy ")
	command, _, _ = strings.Cut(command, "\n")
	cmd := curtsy(t, append(strings.Fields(command), "--max-urls", "3", "--contact", "https://crawler-contact.org/bot")...)
	cmd.Dir = t.TempDir()
	if output, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(output), "private address") {
		t.Errorf("%s: %v\n%s", command, err, output)
	}
}

func TestCrawltestServe(t *testing.T) {
	t.Parallel()
	needsSignals(t)
	cmd := curtsy(t, "crawltest", "serve", "--json")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var board boardMap
	dec := json.NewDecoder(out)
	require.NoError(t, dec.Decode(&board))
	resp, err := http.Get(board.Hosts["own.test"]) // before robots.txt
	require.NoError(t, err)
	resp.Body.Close()
	var score scoreJSON
	require.NoError(t, errors.Join(cmd.Process.Signal(os.Interrupt), dec.Decode(&score)))
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != cli.ExitFound {
		t.Errorf("%v", err)
	}
	if by := verdictsOf(score); !slices.Contains(by["FAIL"], "robots.txt first") || !slices.Contains(by["not shown"], "the crawl ends") {
		t.Errorf("%v", by)
	}
}
