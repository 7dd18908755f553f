package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/audit"
)

func itoa(n int) string { return strconv.Itoa(n) }

// noise is incompressible text, the same for each seed.
func noise(seed uint64, n int) string {
	rng := rand.New(rand.NewPCG(seed, 0))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return string(b)
}

// home gives the test a configuration folder with a file.
func home(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, dir)
	}
	path, err := crawldir.UserConfig()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func inDir(dir, name string) string { return filepath.Join(dir, name) }

// lab is a user with a configuration folder.
type lab struct {
	t      *testing.T
	config string
}

func (l *lab) command(args ...string) *exec.Cmd {
	l.t.Helper()
	cmd := curtsy(l.t, args...)
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+l.config, "HOME="+l.config, "AppData="+l.config)
	return cmd
}

func (l *lab) run(args ...string) result { l.t.Helper(); return ended(l.t, l.command(args...)) }

func archiveText(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no archive")
	text := ""
	for _, path := range files {
		text += string(gunzipped(t, fileOf(t, path)))
	}
	return text
}

// filesOf returns the files of a tree by name.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(b)
		return err
	})
	require.NoError(t, err)
	return files
}

var oneAtHome sync.Mutex // a command sets the garbage collector of its process

// atHome runs a command in this process, with the configuration folder of the tests.
func atHome(t *testing.T, args ...string) result {
	t.Helper()
	oneAtHome.Lock()
	defer oneAtHome.Unlock()
	var out, errs bytes.Buffer
	code := run(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	return result{out.String(), errs.String(), code}
}

// site returns the host and port of a URL.
func site(url string) string { return strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/") }

func unzipped(t *testing.T, path string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(path)
	require.NoError(t, err)
	defer z.Close()
	all := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err, f.Name)
		all[f.Name] = string(b)
	}
	return all
}

func webOf(t *testing.T, sites ...*crawltest.Site) *crawltest.Web {
	t.Helper()
	web := crawltest.New(sites...)
	require.NoError(t, web.Start())
	t.Cleanup(func() { web.Close() })
	return web
}

func fileOf(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func stopped(t *testing.T) (dir string, web *crawltest.Web) {
	t.Helper()
	web = webOf(t, crawltest.Tree("bakery.test", 5))
	dir = filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--workers", "1", "--max-pages", "2", "--dir", dir, web.LoopbackURL("bakery.test")).want(t, cli.ExitDone)
	return dir, web
}

// crawledOnce crawls a site to its end, without a delay. The web remains for updates.
func crawledOnce(t *testing.T, site *crawltest.Site, flags ...string) (dir string, web *crawltest.Web) {
	t.Helper()
	web = webOf(t, site)
	dir = filepath.Join(t.TempDir(), "d")
	args := append([]string{"crawl", "--quiet", "--delay", "0", "--dir", dir}, flags...)
	shared(t, append(args, web.LoopbackURL(site.Name))...).want(t, cli.ExitDone)
	return dir, web
}

// inside runs a command to its end, with a new configuration folder.
func inside(t *testing.T, args ...string) result {
	t.Helper()
	return ended(t, curtsy(t, args...))
}

// shared is inside with the configuration folder that all tests share.
func shared(t *testing.T, args ...string) result {
	t.Helper()
	cmd := curtsy(t, args...)
	cmd.Env = append(os.Environ(), asCurtsy+"=1")
	return ended(t, cmd)
}

func judged(t *testing.T, web *crawltest.Web, rules crawltest.Rules) crawltest.Report {
	t.Helper()
	report := web.Referee().Judge(rules)
	if !report.OK() {
		var b bytes.Buffer
		require.NoError(t, report.WriteTable(&b))
		t.Errorf("the referee:\n%s", b.String())
	}
	return report
}

// deadPort is the URL of a loopback port without a server.
func deadPort(t *testing.T) string {
	t.Helper()
	addr, release, err := silentPort()
	require.NoError(t, err)
	t.Cleanup(release)
	return "http://" + addr + "/"
}

// silentPort is a loopback address at which no server can listen until it is released.
func silentPort() (addr string, release func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		l.Close()
		return "", nil, err
	}
	return c.LocalAddr().String(), func() { c.Close(); l.Close() }, nil
}

// patience is how long a test waits for another process, which may take ten seconds to start.
const patience = 2 * time.Minute

// looking is the interval between two looks.
const looking = 2 * time.Millisecond

// within waits at most d until holds returns true, and reports whether it did. It returns early when over, if not nil, is closed.
func within(d, every time.Duration, over <-chan struct{}, holds func() bool) bool {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	looks := time.NewTicker(every)
	defer looks.Stop()
	for {
		if holds() {
			return true
		}
		select {
		case <-over:
			return false
		case <-deadline.C:
			return false
		case <-looks.C:
		}
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	require.Truef(t, within(patience, looking, nil, holds), "it never happened: %s", what)
}

// heardOutput is the output of a process so far.
type heardOutput struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (h *heardOutput) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.Write(p)
}

func (h *heardOutput) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.String()
}

type process struct {
	cmd       *exec.Cmd
	out, errs heardOutput
	over      chan struct{} // closed at its end
	err       error         // valid then
}

func launched(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, over: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.out, &p.errs
	require.NoError(t, cmd.Start(), cmd.Args)
	go func() {
		p.err = cmd.Wait()
		close(p.over)
	}()
	return p
}

// until waits for something, and reports whether it happened before the process ended.
func (p *process) until(t *testing.T, what string, holds func() bool) bool {
	t.Helper()
	if within(patience, looking, p.over, holds) {
		return true
	}
	select {
	case <-p.over:
		return false
	default:
		p.kill()
		t.Fatalf("%v: it never happened: %s; standard error:\n%s", p.cmd.Args, what, p.errs.String())
		return false
	}
}

func (p *process) kill() bool {
	select {
	case <-p.over:
		return false
	default:
	}
	_ = p.cmd.Process.Kill() // it may be over
	<-p.over
	return p.err != nil
}

func (p *process) end() result {
	<-p.over
	return result{p.out.String(), p.errs.String(), p.cmd.ProcessState.ExitCode()}
}

// tellPeak in the environment names a file into which the process writes its peak memory at its end. The kernel's figure for the
// parent would include the parent's memory.
const tellPeak = "CURTSY_TEST_TELL_PEAK"

// tellingPeak makes a command write its peak memory, in bytes; 0 if unknown.
func tellingPeak(t *testing.T, cmd *exec.Cmd) (peak func() int64) {
	t.Helper()
	path := t.TempDir() + "/peak"
	cmd.Env = append(cmd.Env, tellPeak+"="+path)
	return func() int64 {
		t.Helper()
		n, err := strconv.ParseInt(string(fileOf(t, path)), 10, 64)
		require.NoError(t, err)
		return n
	}
}

// paced is a crawl in another process until the test ends, with one request in 200 ms.
func paced(t *testing.T) (dir string, web *crawltest.Web, end func() result) {
	t.Helper()
	needsSignals(t)
	web = webOf(t, crawltest.Tree("bakery.test", 3000))
	dir = filepath.Join(t.TempDir(), "d")
	cmd := curtsy(t, "crawl", "--delay", "200ms", "--max-wait", "5h", "--dir", dir, web.LoopbackURL("bakery.test"))
	p := launched(t, cmd)
	t.Cleanup(func() { p.kill() })
	end = func() result {
		cmd.Process.Signal(syscall.SIGTERM)
		return p.end()
	}
	eventually(t, "two requests, and an answer", func() bool {
		_, err := control.Ask(t.Context(), dir)
		return err == nil && len(web.Referee().Requests()) >= 3
	})
	return dir, web, end
}

func audited(t *testing.T, args ...string) (*audit.Result, int) {
	t.Helper()
	r := shared(t, append([]string{"audit", "--json"}, args...)...)
	var got audit.Result
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatalf("exit code %d: %v\n%s%s", r.code, err, r.out, r.err)
	}
	return &got, r.code
}

func clean(t *testing.T, args ...string) *audit.Result {
	t.Helper()
	r, exit := audited(t, args...)
	if exit != cli.ExitDone || !r.Clean {
		for _, f := range r.Findings {
			t.Errorf("%+v", f)
		}
		t.Fatalf("exit code %d, %+v", exit, r.Counts)
	}
	return r
}
