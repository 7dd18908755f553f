//go:build peers

package audit

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wget requests loopback directly, and other names through a proxy.
func TestPeers_JudgesArchivesOfWget(t *testing.T) {
	wget, err := exec.LookPath("wget")
	if err != nil {
		require.Emptyf(t, os.Getenv("CURTSY_MUST_RUN"), "%v, and CURTSY_MUST_RUN is set", err)
		t.Skip("wget is not installed")
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nCrawl-delay: 0.2\nDisallow: /private\n")
		case r.URL.Path == "/7":
			http.Redirect(w, r, "/8", http.StatusFound)
		default:
			w.Header().Set("Set-Cookie", "seen=1")
			fmt.Fprintf(w, "<p>%s %s", r.URL.Path, strings.Repeat("word ", 500))
		}
	}))
	t.Cleanup(web.Close)
	for _, c := range []struct {
		name, base string
		pages      int
		flags      []string
		codes      string
	}{
		{"as asked", web.URL, 12, []string{"--wait=0.22", "--no-cookies"}, ""},
		{"as asked, by a proxy", "http://bakery.test", 12, []string{"--wait=0.22", "--no-cookies"}, ""},
		{"at full speed, by a proxy", "http://bakery.test", 60, nil, "gap credentials"},
		{"what is forbidden", "http://bakery.test", 12, []string{"--wait=0.22", "--no-cookies", "http://bakery.test/private/1"}, "disallowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "wget")
			args := []string{"--quiet", "--no-config", "--tries=1", "--output-document=" + filepath.Join(t.TempDir(), "out"), "--warc-file=" + path, c.base + "/robots.txt"}
			for i := range c.pages {
				args = append(args, fmt.Sprintf("%s/%d", c.base, i))
			}
			cmd := exec.CommandContext(t.Context(), wget, append(args, c.flags...)...)
			cmd.Env = []string{"http_proxy=" + web.URL, "no_proxy=127.0.0.1"}
			out, err := cmd.CombinedOutput()
			require.NoErrorf(t, err, "%v\n%s", cmd.Args, out)
			r, err := Run(t.Context(), Options{Files: []string{path + ".warc.gz"}, TempDir: t.TempDir()})
			require.NoError(t, err)
			if codes(r) != c.codes || r.Totals.Robots != 1 || r.Totals.Pages < int64(c.pages) {
				t.Errorf("found %q, want %q: %+v%s", codes(r), c.codes, r.Totals, shown(r))
			}
		})
	}
}
