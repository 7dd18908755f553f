package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/control"
)

// The commands that contact the running crawl.
var askingCommands = [][]string{
	{"status"}, {"frontier", "ls"}, {"frontier", "export"}, {"frontier", "pause", "--host", "127.0.0.1"}, {"frontier", "repair", "--dry-run"},
	{"frontier", "retry", "--failed"}, {"frontier", "drop", "--host", "127.0.0.1"}, {"frontier", "repair", "--compact"},
}

// A process on the port of a killed crawl, or the author of a control file in a received directory, can remove nothing.
func TestControl_ImpostorRemovesNothing(t *testing.T) {
	t.Parallel()
	terms, err := control.Secure("known")
	require.NoError(t, err)
	mux := http.NewServeMux() // a running crawl whose snapshot is the frontier itself
	mux.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"state":"running"}`) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `"frontier.db"`) })
	for who, start := range map[string]func(*httptest.Server){
		"a stranger": (*httptest.Server).Start, "one who knows the token": (*httptest.Server).StartTLS,
	} {
		dir, _ := stopped(t)
		s := httptest.NewUnstartedServer(mux)
		s.TLS = terms
		start(s)
		t.Cleanup(s.Close)
		left := fmt.Sprintf(`{"address":%q,"token":"known"}`, s.Listener.Addr())
		require.NoError(t, os.WriteFile(inDir(dir, control.File), []byte(left), 0o600))
		before := filesOf(t, dir)
		for _, args := range askingCommands {
			r := inside(t, append(args, dir)...)
			if who == "a stranger" && r.code != cli.ExitDone {
				t.Errorf("%s, %s: %+v", who, strings.Join(args, " "), r)
			}
			after := filesOf(t, dir)
			for name := range before {
				partial := strings.HasPrefix(name, "ledger/tile/") // a wider tile replaces it
				if _, ok := after[name]; !ok && !partial {
					t.Fatalf("%s, %s: %s is gone", who, strings.Join(args, " "), name)
				}
			}
		}
	}
}
