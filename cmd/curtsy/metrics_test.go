package main

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scrapedAt asks as a Prometheus does.
func scrapedAt(t *testing.T, host, token string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v: %s", resp.StatusCode, err, b)
	}
	return string(b)
}

// A token of the user's own stays out of what is printed, opens what a Prometheus asks for, and lets nobody act by it alone.
func TestADashboardHasTheTokenOfAFile(t *testing.T) {
	t.Parallel()
	const token = "9f2c1ad04be77c1d63f08a5be1d24c60"
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	seed, _ := small(t)
	crawl := filepath.Join(dir, "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", crawl, seed).want(t, 0)
	address := shown(t, "--token", file, crawl)
	if strings.Contains(address, token) {
		t.Errorf("%s has the token", address)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if text := scrapedAt(t, u.Host, token); !strings.Contains(text, "\ncurtsy_build_info{") {
		t.Error(text)
	}
}

// shown shows crawls in a process of its own until the test ends, and returns the address that is printed.
func shown(t *testing.T, args ...string) (address string) {
	t.Helper()
	cmd := curtsy(t, append([]string{"dashboard"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}
