package leaks

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type server struct {
	*httptest.Server
	mu    sync.Mutex
	heads map[string]string // by target
}

func (s *server) serve(h http.HandlerFunc) http.HandlerFunc {
	s.heads = map[string]string{}
	return func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		fmt.Fprintf(&b, "%s %s\n", r.Method, r.RequestURI)
		_ = r.Header.Write(&b) // to memory
		s.mu.Lock()
		s.heads[r.RequestURI] += b.String()
		s.mu.Unlock()
		h(w, r)
	}
}

func (s *server) received(target string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if target != "" {
		return []byte(s.heads[target])
	}
	var b strings.Builder
	for _, head := range s.heads {
		b.WriteString(head)
	}
	return []byte(b.String())
}

// world is a site behind a login, others beside it, and everything that a crawl of it left and printed.
type world struct {
	bin, home, dir string
	own            *server // http://127.0.0.1:P, behind a login
	port           *server // the same host, another port
	host           *server // localhost
	scheme         *server // https
	slow           chan struct{}

	args []string // of --auth and --header
	seen map[string][]byte
}

func basic() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{home: t.TempDir(), own: &server{}, port: &server{}, host: &server{}, scheme: &server{}, slow: make(chan struct{}, 1),
		seen: map[string][]byte{}}
	w.own.Server = httptest.NewServer(w.own.serve(w.behindLogin))
	w.port.Server = httptest.NewServer(w.port.serve(w.other))
	w.host.Server = httptest.NewServer(w.host.serve(w.other))
	w.scheme.Server = httptest.NewTLSServer(w.scheme.serve(w.other))
	for _, s := range []*server{w.own, w.port, w.host, w.scheme} {
		t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	}
	write := func(name, text string) string {
		path := filepath.Join(w.home, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	auth := write("auth", user+":"+password+"\n")
	fields := write("fields", "X-Api-Key: "+token+"\nCookie: session="+session+"\n")
	ca := write("ca", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.scheme.Certificate().Raw})))
	w.args = []string{"--auth", w.own.URL + "=" + auth, "--header", w.own.URL + "=" + fields, "--ca-file", ca, "--allow-net", "127.0.0.0/8",
		"--contact", "crawl@library.org", "--delay", "0"}
	w.dir = filepath.Join(w.home, "d")
	w.bin = filepath.Join(w.home, "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", w.bin, "curtsy/cmd/curtsy")
	build.Env = append(os.Environ(), "GOGC=400")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return w
}

func (w *world) local() string { return strings.Replace(w.host.URL, "127.0.0.1", "localhost", 1) }

// behindLogin requires the credentials.
func (w *world) behindLogin(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" || r.URL.Path == "/robots-of-others.txt" {
		fmt.Fprintf(rw, "User-agent: *\nAllow: /\nSitemap: %s/map.xml\n", w.port.URL)
		return
	}
	if r.Header.Get("Authorization") != basic() || r.Header.Get("X-Api-Key") != token || r.Header.Get("Cookie") != "session="+session {
		http.Error(rw, "who are you?", http.StatusUnauthorized)
		return
	}
	repeat := "<p>You sent " + r.Header.Get("Authorization") + " and " + r.Header.Get("X-Api-Key")
	rw.Header().Set("Content-Type", "text/html")
	switch r.URL.Path {
	case "/":
		fmt.Fprintf(rw, `<title>Handbook</title><img src="%[1]s/picture.png"><a href="%[2]s/linked">x</a>`, w.port.URL, w.local())
		for _, path := range []string{"to-host", "to-port", "to-scheme", "chain", "echo", "echo-gzip", "echo-location", "echo-head", "missing"} {
			fmt.Fprintf(rw, `<a href="/%s">%s</a>`, path, path)
		}
	case "/to-host":
		http.Redirect(rw, r, w.local()+"/by-redirect", http.StatusFound)
	case "/to-port":
		http.Redirect(rw, r, w.port.URL+"/by-redirect", http.StatusFound)
	case "/to-scheme":
		http.Redirect(rw, r, w.scheme.URL+"/by-redirect", http.StatusFound)
	case "/chain":
		http.Redirect(rw, r, w.port.URL+"/there", http.StatusFound)
	case "/echo":
		fmt.Fprint(rw, repeat)
	case "/echo-gzip":
		rw.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(rw)
		fmt.Fprint(z, repeat)
		_ = z.Close()
	case "/echo-location":
		http.Redirect(rw, r, w.port.URL+"/?key="+token, http.StatusFound)
	case "/echo-head":
		rw.Header().Set("X-You-Sent", r.Header.Get("Authorization"))
		fmt.Fprint(rw, "<p>ok")
	case "/malformed", "/cut":
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			return
		}
		if r.URL.Path == "/malformed" {
			fmt.Fprintf(conn, "HTTP/1.1 %s OK\r\n\r\n", token)
		}
		_ = conn.Close()
	case "/slow":
		select {
		case w.slow <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	case "/came-back":
		fmt.Fprint(rw, "<p>came back")
	default:
		http.NotFound(rw, r)
	}
}

func (w *world) other(rw http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/robots.txt":
		http.Redirect(rw, r, w.own.URL+"/robots-of-others.txt", http.StatusFound)
	case "/there":
		http.Redirect(rw, r, w.own.URL+"/came-back", http.StatusFound)
	case "/map.xml":
		rw.Header().Set("Content-Type", "application/xml")
		fmt.Fprintf(rw, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>%s/from-map</loc></url></urlset>`, w.port.URL)
	default:
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, "<p>another site")
	}
}

func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.bin, args...)
	cmd.Dir = w.home
	cmd.Env = []string{"HOME=" + w.home, "XDG_CONFIG_HOME=" + w.home, "XDG_CACHE_HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "GOTRACEBACK=all"}
	return cmd
}

// run runs a command and keeps its output under a name.
func (w *world) run(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := w.command(t.Context(), args...).CombinedOutput()
	w.seen[name] = append(w.seen[name], out...)
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		t.Fatalf("%v: %v", args, err)
	}
}

// page gets pages of a command that serves, and ends it.
func (w *world) page(t *testing.T, targets map[string]string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := w.command(ctx, args...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	require.NoError(t, err)
	b := make([]byte, 4<<10) // the address is a line, and written at once
	n, _ := out.Read(b)
	at := bytes.Index(b[:n], []byte("http://"))
	if at < 0 {
		t.Fatalf("no address: %q", b[:n])
	}
	address, _, _ := strings.Cut(string(b[at:n]), "\n")
	base, query, _ := strings.Cut(strings.TrimSpace(address), "?")
	for name, target := range targets {
		glue := "?"
		if strings.Contains(target, "?") {
			glue = "&"
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+target+glue+query, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+strings.TrimPrefix(query, "token="))
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		w.seen[name] = append(fmt.Appendf(nil, "status %d\n", resp.StatusCode), body...)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
}

// crash crawls until the slow page is requested, reads /proc, and ends the process with a stack trace.
func (w *world) crash(t *testing.T) {
	t.Helper()
	dir := filepath.Join(w.home, "crashed")
	var out bytes.Buffer
	cmd := w.command(t.Context(), append([]string{"crawl", "--dir", dir, "--scope", "seeds", w.own.URL + "/slow"}, w.args...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	<-w.slow
	for _, file := range []string{"cmdline", "environ"} {
		w.seen[file], _ = os.ReadFile(fmt.Sprintf("/proc/%d/%s", cmd.Process.Pid, file))
	}
	_ = cmd.Process.Signal(syscall.SIGQUIT)
	_ = cmd.Wait()
	w.seen["trace"], w.seen["killed"] = out.Bytes(), below(t, dir)
}

// The secrets; none appears anywhere by chance.
const (
	user     = "jo"
	password = "Tr0ub4dor&3-zebra"
	token    = "k3y-0f-th3-0perat0r-x91"
	session  = "s3ss10n-77c1f0aa"
)

// forms are the spellings of the secrets.
func forms() (all []string) {
	for _, s := range []string{password, user + ":" + password, token, session} {
		all = append(all, s, url.QueryEscape(s), hex.EncodeToString([]byte(s)), strings.ReplaceAll(s, "&", "&amp;"), strings.ReplaceAll(s, "&", `\u0026`),
			strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(s)), "="), strings.Trim(fmt.Sprint([]byte(s)), "[]"))
	}
	return all
}

// leaked returns a secret in b, or in the content packed in b; "" for none.
func leaked(b []byte, depth int) string {
	for _, form := range forms() {
		if at := bytes.Index(b, []byte(form)); at >= 0 {
			return fmt.Sprintf("%q, in %q", form, b[max(0, at-80):min(len(b), at+len(form)+20)])
		}
	}
	if depth == 0 {
		return ""
	}
	for _, part := range unpacked(b) {
		if found := leaked(part, depth-1); found != "" {
			return found
		}
	}
	return ""
}

func unpacked(b []byte) (parts [][]byte) {
	take := func(r io.Reader, err error) {
		if err == nil {
			part, _ := io.ReadAll(io.LimitReader(r, 64<<20))
			parts = append(parts, part)
		}
	}
	switch {
	case bytes.HasPrefix(b, []byte("\x1f\x8b")):
		take(gzip.NewReader(bytes.NewReader(b)))
	case bytes.HasPrefix(b, []byte("\x28\xb5\x2f\xfd")):
		take(zstd.NewReader(bytes.NewReader(b)))
	case bytes.HasPrefix(b, []byte("\xff\x06\x00\x00S2sTwO")):
		take(s2.NewReader(bytes.NewReader(b)), nil)
	case bytes.HasPrefix(b, []byte("PK")):
		z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return nil
		}
		for _, f := range z.File {
			take(f.Open())
		}
	}
	return parts
}

func has(b []byte, mark string, depth int) bool {
	if bytes.Contains(b, []byte(mark)) {
		return true
	}
	for _, part := range unpacked(b) {
		if depth > 0 && has(part, mark, depth-1) {
			return true
		}
	}
	return false
}

// below returns the content of all files below a folder, with their paths.
func below(t *testing.T, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(&b, "\n%s\n", path)
		b.Write(content)
		for _, part := range unpacked(content) {
			b.Write(part)
			for _, inner := range unpacked(part) {
				b.Write(inner)
			}
		}
		return err
	})
	require.NoError(t, err)
	return b.Bytes()
}

// The search finds each secret; otherwise the other tests prove nothing.
func TestSearch_FindsPackedSecrets(t *testing.T) {
	pack := map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"zstd": func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
		"s2":   func(w io.Writer) io.WriteCloser { return s2.NewWriter(w) },
	}
	for _, form := range forms() {
		assert.NotEmptyf(t, leaked([]byte("x"+form+"y"), 2), "%q is not found", form)
	}
	for name, by := range pack {
		var packed, zipped bytes.Buffer
		w := by(&packed)
		_, _ = io.WriteString(w, strings.Repeat("a page ", 1000)+password)
		require.NoError(t, w.Close())
		z := zip.NewWriter(&zipped)
		f, err := z.Create("x")
		if err == nil {
			_, err = f.Write(packed.Bytes())
		}
		if err == nil {
			err = z.Close()
		}
		require.NoError(t, err)
		if leaked(packed.Bytes(), 2) == "" || leaked(zipped.Bytes(), 2) == "" || leaked([]byte("nothing"), 2) != "" {
			t.Errorf("%s: not found", name)
		}
	}
}
