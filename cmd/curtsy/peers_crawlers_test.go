//go:build peers

package main

import (
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

// bot is the contact in each User-Agent.
const bot = "(+https://crawler-contact.org/bot)"

// peer is another crawler, with options that make it as polite as possible. docs/trust/conformance.md has the results, and explains
// the options.
type peer struct {
	program, token string
	version        []string // prints it
	args           []string
	passes, fails  []string // at least these rules
}

func peers(t *testing.T) []peer {
	spider, err := filepath.Abs(filepath.Join("testdata", "scoreboard_spider.py"))
	require.NoError(t, err)
	unreachable := []string{"robots.txt answers 503", "robots.txt answers 429", "Crawl-delay", "X-Robots-Tag nofollow", "Retry-After: seconds"}
	return []peer{
		{
			program: "wget", token: "wget", version: []string{"wget", "--version"},
			args: []string{"-r", "-l", "20", "-w", "1", "--tries", "2", "--waitretry", "10", "-T", "15", "--max-redirect", "10",
				"--no-cookies", "-U", "wget/1 " + bot, "-P", "{dir}", "{seed}"},
			passes: []string{"contact", "pace of 1 s", "one request at a time", "robots.txt: own group"}, fails: unreachable,
		},
		{
			program: "wget2", token: "wget2", version: []string{"wget2", "--version"},
			args: []string{"-r", "-l", "20", "-w", "1", "--max-threads", "1", "--tries", "2", "--waitretry", "10", "-T", "15",
				"--max-redirect", "10", "--no-cookies", "-U", "wget/2 " + bot, "-P", "{dir}", "{seed}"},
			passes: []string{"contact"}, fails: unreachable,
		},
		{
			program: "httrack", token: "HTTrack", version: []string{"httrack", "--version"},
			args: []string{"{seed}", "-O", "{dir}", "+127.0.0.1:*", "-r20", "-c1", "-%c1", "-s3", "-b0", "-R1", "-T15", "-%!", "-A100000000",
				"-F", "HTTrack/3 " + bot, "-q"},
			passes: []string{"contact"}, fails: slices.DeleteFunc(slices.Clone(unreachable), func(r string) bool { return r == "X-Robots-Tag nofollow" }),
		},
		{
			program: "scrapy", token: "Scrapy", version: []string{"scrapy", "version"},
			args: []string{"runspider", spider, "-a", "seed={seed}", "-s", "USER_AGENT=Scrapy/2 " + bot, "-s", "ROBOTSTXT_OBEY=1",
				"-s", "DOWNLOAD_DELAY=1", "-s", "RANDOMIZE_DOWNLOAD_DELAY=0", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=1",
				"-s", "AUTOTHROTTLE_ENABLED=1", "-s", "AUTOTHROTTLE_START_DELAY=1", "-s", "COOKIES_ENABLED=0",
				"-s", "DEPTH_LIMIT=20", "-s", "DOWNLOAD_MAXSIZE=16777216", "-s", "REDIRECT_MAX_TIMES=10", "-s", "RETRY_TIMES=1", "-s", "DOWNLOAD_TIMEOUT=15"},
			passes: []string{"contact", "robots.txt: own group"}, fails: unreachable,
		},
	}
}

// Reproduces the results in docs/trust/conformance.md.
func TestPeers_ScoreOfOtherCrawlers(t *testing.T) {
	if !full() {
		t.Skip("minutes of waiting: CURTSY_LONG=1")
	}
	for _, p := range peers(t) {
		t.Run(p.program, func(t *testing.T) {
			t.Parallel()
			skipWithout(t, p.program)
			version, err := exec.Command(p.version[0], p.version[1:]...).CombinedOutput()
			if err != nil {
				t.Logf("%v: %v", p.version, err)
			}
			first, _, _ := strings.Cut(strings.TrimSpace(string(version)), "\n")
			log := filepath.Join(t.TempDir(), "log")
			score, r := scoredAs(t, nil, append([]string{"--token", p.token, "--timeout", "7m", "--log", log, "--", p.program}, p.args...)...)
			r.want(t, cli.ExitFound)
			by := verdictsOf(score)
			for _, rule := range p.passes {
				assert.Contains(t, by["pass"], rule, "not passed")
			}
			for _, rule := range p.fails {
				if slices.Contains(by["pass"], rule) { // not shown is possible: a peer may end early
					t.Errorf("%s: passed: docs/trust/conformance.md is out of date", rule)
				}
			}
			t.Logf("%s: %d passed, %d failed, %d not shown\nfailed: %q\nnot shown: %q", first, score.Passed, score.Failed, score.NotShown, by["FAIL"], by["not shown"])
			if text, err := os.ReadFile(log); err != nil || len(text) == 0 && p.program != "httrack" {
				t.Errorf("it printed nothing: %v", err)
			}
		})
	}
}
