package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// A mirror is shown at the address that is printed, to names of this machine alone, until a signal.
func TestServeShowsTheMirrorUntilASignal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	seed, web := small(t)
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "mirror", "--quiet", "--delay", "0", "--dir", dir, seed).want(t, cli.ExitDone)
	if err := web.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := curtsy(t, "mirror", "serve", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	at, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(at, "http://127.0.0.1:") {
		t.Fatalf("%q %v", at, err)
	}
	resp, err := http.Get(strings.TrimSpace(at))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || !strings.HasSuffix(resp.Request.URL.Path, "/index.html") || !strings.Contains(string(body), "p1.html") {
		t.Errorf("%v %v %s", resp.Status, resp.Request.URL, body)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSpace(at), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "elsewhere.test"
	if resp, err = http.DefaultClient.Do(req); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("%v %v", resp, err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
