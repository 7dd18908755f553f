package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/status"
	"curtsy/frontier"
)

// impostor answers any client as a crawl would, with a snapshot of any name; received gets the requests.
func impostor(name string, received *strings.Builder) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, status.Status{State: "running"}) })
	mux.HandleFunc("/snapshot", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, name) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintln(received, r.Method, r.RequestURI, r.Header, string(b))
		r.Body = io.NopCloser(strings.NewReader(string(b)))
		mux.ServeHTTP(w, r)
	})
}

// leftControl leaves a control file as a killed crawl does, with another server on its port.
func leftControl(t *testing.T, dir, token string, by *httptest.Server) {
	t.Helper()
	at := address{Address: by.Listener.Addr().String(), Token: token}
	require.NoError(t, writeFile(filepath.Join(dir, File), at))
}

// A process with the port of a killed crawl is rejected, and receives no data.
func TestConnect_RejectsServersWithoutTheToken(t *testing.T) {
	const token = "0123456789abcdef0123456789abcdef"
	unsecured := func(h http.Handler) *httptest.Server {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s
	}
	for what, by := range map[string]func(http.Handler) *httptest.Server{
		"nothing":         unsecured,
		"another secret":  func(h http.Handler) *httptest.Server { return securely(t, "another", h) },
		"an empty secret": func(h http.Handler) *httptest.Server { return securely(t, "", h) },
		"somewhere else": func(http.Handler) *httptest.Server {
			return securely(t, token, http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect))
		},
		"no answer": func(http.Handler) *httptest.Server {
			return securely(t, token, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		},
	} {
		dir := t.TempDir()
		var received strings.Builder
		leftControl(t, dir, token, by(impostor("frontier.db", &received)))
		if _, err := Connect(t.Context(), dir); err == nil || what != "somewhere else" && !errors.Is(err, ErrNotRunning) {
			t.Errorf("%s: %v", what, err)
		}
		assert.Emptyf(t, received.String(), "%s: a request was sent", what)
	}
}

// The empty secret is not a secret.
func TestAControlFileWithoutATokenIsDamaged(t *testing.T) {
	dir := t.TempDir()
	var said strings.Builder
	leftControl(t, dir, "", securely(t, "", impostor("frontier.db", &said)))
	if _, err := Connect(t.Context(), dir); !errors.Is(err, ErrNotRunning) || said.Len() > 0 {
		t.Errorf("%v, and was asked %q", err, said.String())
	}
}

// With a known token in a received directory, only names of snapshots are returned: they are to be read and removed.
func TestSnapshot_NameIsTheClients(t *testing.T) {
	for _, name := range []string{"frontier.db", "", ".", "..", "../x", "crawl.toml", SnapshotPrefix + "x.db", NewSnapshot()} {
		dir := t.TempDir()
		var said strings.Builder
		leftControl(t, dir, "known", securely(t, "known", impostor(name, &said)))
		r, err := Connect(t.Context(), dir)
		require.NoError(t, err)
		if path, err := r.Snapshot(t.Context()); err == nil {
			t.Errorf("%q: %s", name, path)
		}
	}
}

// copied is a frontier that makes snapshots.
type copied struct{ frontier.Frontier }

func (copied) Snapshot(_ context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// The server also checks the name, and keeps existing files.
func TestASnapshotIsANewFile(t *testing.T) {
	dir, _ := servedOn(t, func(f frontier.Frontier) frontier.Frontier { return copied{f} })
	r, err := Connect(t.Context(), dir)
	require.NoError(t, err)
	path, err := r.Snapshot(t.Context())
	if err != nil || filepath.Dir(path) != dir || !isSnapshot(filepath.Base(path)) {
		t.Fatalf("%s, %v", path, err)
	}
	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	order, err := json.Marshal(filepath.Base(path))
	require.NoError(t, err)
	if status, says := ordered(t, dir, "/snapshot", string(order)); status != http.StatusBadRequest || !strings.Contains(says, "there already") {
		t.Errorf("%d, %q", status, says)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
	for _, name := range []string{"frontier.db", "../" + NewSnapshot()} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
