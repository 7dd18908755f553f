package main

import (
	"archive/zip"
	"bytes"
	"context"
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
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
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
