package crawlcmd

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/scratch"
)

// The test binary is the command that hooks run.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "hook" {
		if os.WriteFile(os.Args[2], []byte(strings.Join(os.Args[3:], "|")), 0o600) != nil {
			os.Exit(9)
		}
		fmt.Fprintln(os.Stderr, "all told")
		if os.Args[3] == "fail" {
			os.Exit(3)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 {
		hookChild()
	}
	os.Exit(scratch.Run(m.Run))
}

// The command of the end is run however a crawl ends, knows how, and changes nothing of it.
func TestOnEndIsRunHoweverACrawlEnds(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "LocalAppData", "AppData"} {
		t.Setenv(name, home)
	}
	page := func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		io.WriteString(rw, `<a href="/a">a</a> <a href="/b">b</a>`)
	}
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		args    []string
		says    string
		want    string // DIR stands for the directory
		code    int
		stderr  string
	}{
		"done":        {page, nil, "{state} {exit} {pages} {dir}", "finished|0|3|DIR", 0, ""},
		"budget":      {page, []string{"--max-pages", "1"}, "{state} {exit} {ended_by}", "finished|0|max-pages", 0, ""},
		"it fails":    {page, nil, "fail {state}", "fail|finished", 0, "exit status 3: all told"},
		"incomplete":  {http.NotFound, nil, "{state} {exit}", "incomplete|4", 4, ""},
		"interrupted": {interrupting(), nil, "{state} {exit} {ended_by}", "interrupted|143|interrupted", 143, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tt.handler)
			defer server.Close()
			dir, out := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "out")
			var stderr bytes.Buffer
			cmd := New(cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &stderr})
			cmd.SetArgs(append(tt.args, "--delay", "0", "--max-wait", "1ms", "--dir", dir, "--on-end", fmt.Sprintf(`"%s" hook "%s" %s`, self, out, tt.says), server.URL+"/"))
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			_, code := cli.Ended(cmd.ExecuteContext(t.Context()))
			told, err := os.ReadFile(out)
			if want := strings.ReplaceAll(tt.want, "DIR", dir); err != nil || string(told) != want || code != tt.code {
				t.Errorf("%v: told %q, want %q; exit code %d\n%s", err, told, want, code, stderr.String())
			}
			if !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("%q is not said: %s", tt.stderr, stderr.String())
			}
		})
	}
}

// interrupting is a handler of endless pages that has this process be asked to stop when the first is asked for.
func interrupting() http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Signal(syscall.SIGTERM)
			}
			if err != nil {
				http.Error(rw, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<a href="%sx">on and on</a>`, r.URL.Path)
	}
}

// What is wrong with a command is said before anything is made or asked.
func TestAWrongHookIsRefusedBeforeTheCrawl(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	for _, args := range [][]string{
		{"--on-end", "no-such-program-here"}, {"--on-end", "{dir}"}, {"--on-end", os.Args[0] + " {host}"}, {"--on-end", "'"},
		{"--dry-run", "--on-end", os.Args[0]},
	} {
		cmd := New(cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
		cmd.SetArgs(append(args, "--dir", dir, "http://127.0.0.1:9/"))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if _, code := cli.Ended(cmd.ExecuteContext(t.Context())); code != cli.ExitUsage {
			t.Errorf("%q: exit code %d", args, code)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%q: a directory was made", args)
		}
	}
}
