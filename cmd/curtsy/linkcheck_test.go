package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// Interrupted, a check prints what it knows, and how to continue.
func TestCheckInterruptedPrintsWhatIsKnown(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	var requests atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch requests.Add(1); r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<a href=/lost>x</a><a href=/busy>y</a>")
		case "/busy":
			w.Header().Set("Retry-After", "80")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	for _, tt := range []struct {
		name string
		sig  syscall.Signal
		code int
		args []string
		want string
	}{
		{"text, SIGTERM", syscall.SIGTERM, 143, nil, "partial, interrupted: 1 broken link, in 1 place on 1 page; checked 3 URLs"},
		{"JSON, SIGINT", syscall.SIGINT, 130, []string{"--json"}, "\"partial\": true,"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			before := requests.Load()
			cmd := curtsy(t, append([]string{"linkcheck", "--delay", "0", "--dir", dir, site.URL + "/"}, tt.args...)...)
			cmd.Env = append(cmd.Env, "GITHUB_ACTIONS=")
			wait := begun(t, cmd)
			eventually(t, "four requests", func() bool { return requests.Load() >= before+4 })
			if err := cmd.Process.Signal(tt.sig); err != nil {
				t.Fatal(err)
			}
			r := wait()
			r.want(t, tt.code, "curtsy linkcheck "+dir+" continues", "curtsy linkcheck --offline "+dir)
			if !strings.Contains(r.out, tt.want) || !strings.Contains(r.out, site.URL+"/lost") {
				t.Errorf("%s", r.out)
			}
		})
	}
}
