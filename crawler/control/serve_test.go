package control

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler"
	"curtsy/crawler/fetch"
	"curtsy/crawler/record"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/storage"
)

// nowhere is an archive and a ledger that discard everything.
type nowhere struct{}

func (nowhere) Record(context.Context, storage.Record) (storage.Receipt, error) {
	return storage.Receipt{}, errors.ErrUnsupported
}
func (nowhere) Refuse(context.Context, storage.Line) error { return nil }
func (nowhere) Begin(context.Context) error                { return nil }
func (nowhere) Append(context.Context, storage.Line) error { return nil }
func (nowhere) Sync(context.Context) error                 { return nil }

func parse(t *testing.T, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	require.NoError(t, err)
	return u
}

// plain is a crawl without a record of its operator's acts.
type plain struct{ *crawler.Crawl }

func (p plain) Pause(_ context.Context, on bool) error {
	p.Crawl.Pause(on)
	return nil
}

func (p plain) Drain(context.Context) error {
	p.Crawl.Drain()
	return nil
}

func (p plain) Change(ctx context.Context, o Change) (Changed, error) {
	if o.Setting == "" {
		return Changed{}, Bad(errors.New("no setting is named"))
	}
	return Changed{Before: o.Value, After: NoteOf(ctx)}, nil
}

// served serves the control interface of a crawl that has not begun, until the test ends or stop is called.
func served(t *testing.T) (dir string, stop func()) {
	t.Helper()
	return servedOn(t, func(f frontier.Frontier) frontier.Frontier { return f })
}

// servedOn is served with the frontier that on returns.
func servedOn(t *testing.T, on func(frontier.Frontier) frontier.Frontier) (dir string, stop func()) {
	t.Helper()
	a, l := nowhere{}, nowhere{}
	front, err := engine.Open(filepath.Join(t.TempDir(), engine.FileName), frontier.Options{Barrier: record.Barrier(a, l)})
	require.NoError(t, err)
	t.Cleanup(func() { front.Close() })
	f, err := fetch.New(fetch.Config{})
	require.NoError(t, err)
	u := parse(t, "http://a.test/")
	if _, err := front.Add(t.Context(), []frontier.Candidate{{URL: u, Kind: frontier.KindSeed, Seed: u.String()}}); err != nil {
		t.Fatal(err)
	}
	operated := on(front)
	c, err := crawler.New(t.Context(), crawler.Config{Frontier: operated, Fetcher: f, Recorder: a, Ledger: l})
	require.NoError(t, err)
	dir = t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, dir, plain{c}, operated) }()
	stop = func() {
		cancel()
		assert.NoError(t, <-done, "Serve")
		done <- nil
	}
	t.Cleanup(stop)
	for {
		if _, err := os.Stat(filepath.Join(dir, File)); err == nil {
			return dir, stop
		}
		runtime.Gosched()
	}
}

func TestServe_AnswersAndCleansUp(t *testing.T) {
	dir, stop := served(t)
	s, err := Ask(t.Context(), dir)
	if err != nil || s.State != "running" || s.Queued != 1 || s.Discovered != 1 {
		t.Fatalf("%+v, %v", s, err)
	}
	if info, err := os.Stat(filepath.Join(dir, File)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: others must not read the token", info.Mode(), err)
	}
	stop()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if _, err := Ask(t.Context(), dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after the end: %v", err)
	}
}

func TestServe_RequiresItsToken(t *testing.T) {
	dir, _ := served(t)
	b, err := os.ReadFile(filepath.Join(dir, File))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(b), `"address":"`)
	address, _, _ := strings.Cut(rest, `"`)
	assert.Truef(t, strings.HasPrefix(address, "127.0.0.1:"), "listens on %q", address)
	_, rest, _ = strings.Cut(string(b), `"token":"`)
	token, _, _ := strings.Cut(rest, `"`)
	strange := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for _, given := range []string{"", "Bearer 0123456789abcdef0123456789abcdef", "Bearer " + token} {
		for _, url := range []string{"http://" + address + "/status", "https://" + address + "/status"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			require.NoError(t, err)
			req.Header.Set("Authorization", given)
			resp, err := strange.Do(req)
			if err != nil {
				continue
			}
			if resp.Body.Close(); resp.StatusCode != http.StatusBadRequest { // plain HTTP to a TLS server
				t.Errorf("%s, Authorization %q: %s", url, given, resp.Status)
			}
		}
	}
}

func TestAsk_DistinguishesGoneFromSlow(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, File)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed.Close()
	for _, content := range []string{"not JSON", `{"address":"` + closed.Addr().String() + `","token":"x"}`} {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		if _, err := Ask(t.Context(), dir); !errors.Is(err, ErrNotRunning) {
			t.Errorf("%s: %v", content, err)
		}
	}

	silent, err := net.Listen("tcp", "127.0.0.1:0") // its backlog takes the connection
	require.NoError(t, err)
	defer silent.Close()
	require.NoError(t, os.WriteFile(path, []byte(`{"address":"`+silent.Addr().String()+`","token":"x"}`), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Ask(ctx, dir); err == nil || errors.Is(err, ErrNotRunning) {
		t.Errorf("of a crawl that does not answer in time: %v", err)
	}
}
