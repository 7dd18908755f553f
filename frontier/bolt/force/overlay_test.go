package force_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// overlaid is this test binary with a hook below bbolt and one below the engine's clock, built on first use.
type overlaid struct {
	once   sync.Once
	path   string
	output []byte
	err    error
}

var hooked overlaid

func hookedBinary(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		cannot(t, "the overlay of bbolt is written for linux")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		cannot(t, "no Go tool to build bbolt with an overlay: %v", err)
	}
	hooked.once.Do(func() { hooked.build(t, tool) })
	require.NoErrorf(t, hooked.err, "build with an overlay: %v\n%s", hooked.err, hooked.output)
	return hooked.path
}

// change is text to replace in a source file, where it must be unique: a new version of bbolt must fail the test.
type change struct {
	file, from, to string
}

func changes() []change {
	return []change{
		{"db.go", "db.ops.writeAt = db.file.WriteAt", "db.ops.writeAt = forceWriteAt(db.file)"},
		{"db.go", "db.file.Truncate(", "forceTruncate(db.file, "},
		{"db.go", "db.file.Sync()", "forceSync(db.file.Sync)"},
		{"bolt_linux.go", "return syscall.Fdatasync(int(db.file.Fd()))", "return forceSync(func() error { return syscall.Fdatasync(int(db.file.Fd())) })"},
	}
}

func (o *overlaid) build(t *testing.T, tool string) {
	dir, err := os.MkdirTemp("", "curtsy-force-")
	if err != nil {
		o.err = err
		return
	}
	o.path = filepath.Join(dir, "child.test")
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	put := func(original, text string) {
		p := filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(original, "/"), "/", "_"))
		mustWrite(t, p, text)
		overlay.Replace[original] = p
	}
	o.module(t, tool, filepath.Join(dir, "bbolt"), filepath.Join(dir, "go.mod"))
	overlayClock(t, put)
	list, err := json.Marshal(overlay)
	require.NoError(t, err)
	name := filepath.Join(dir, "overlay.json")
	mustWrite(t, name, string(list))
	cmd := exec.Command(tool, "test", "-c", "-vet=off", "-modfile="+filepath.Join(dir, "go.mod"), "-overlay="+name, "-o", o.path, ".")
	cmd.Env = append(os.Environ(), "GOGC=400")
	o.output, o.err = cmd.CombinedOutput()
}

// module writes a copy of bbolt with the hook, and a go.mod that uses it: the module cache cannot be overlaid.
func (o *overlaid) module(t *testing.T, tool, dir, mod string) {
	find := func(format string, args ...string) string {
		out, err := exec.Command(tool, append([]string{"list", "-m", "-f", format}, args...)...).Output()
		require.NoError(t, err, "go list")
		return strings.TrimSpace(string(out))
	}
	source, ours := find("{{.Dir}}", "go.etcd.io/bbolt"), find("{{.GoMod}}")
	require.NoError(t, os.CopyFS(dir, os.DirFS(source)))
	for _, c := range changes() {
		file := filepath.Join(dir, c.file)
		text := mustRead(t, file)
		n := strings.Count(text, c.from)
		require.Truef(t, n == 1, "%s has %q %d times, and the hook was written for one", c.file, c.from, n)
		mustWrite(t, file, strings.ReplaceAll(text, c.from, c.to))
	}
	mustWrite(t, filepath.Join(dir, "force_hook.go"), mustRead(t, filepath.Join("testdata", "hook.go.txt")))
	mustWrite(t, mod, mustRead(t, ours)+"\nreplace go.etcd.io/bbolt => "+dir+"\n")
	mustWrite(t, strings.TrimSuffix(mod, "mod")+"sum", mustRead(t, strings.TrimSuffix(ours, "mod")+"sum"))
}

// overlayClock has the engine, and the packages below it, read the time from a clock that can be stepped.
func overlayClock(t *testing.T, put func(original, text string)) {
	dir, err := filepath.Abs("..")
	require.NoError(t, err)
	changed := map[string]bool{} // folders
	for _, pattern := range []string{"*.go", "*/*.go"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text := mustRead(t, file)
			with := strings.NewReplacer("time.Now()", "forceNow()", "time.Since(", "forceSince(", "time.Until(", "forceUntil(").Replace(text)
			if with != text {
				changed[filepath.Dir(file)] = true
				put(file, with+"\nvar _ time.Duration // imported still\n")
			}
		}
	}
	require.True(t, changed[dir] && changed[filepath.Join(dir, "layout")], "the engine reads no clock: the overlay has nothing to replace")
	clock := mustRead(t, filepath.Join("testdata", "clock.go.txt"))
	for folder := range changed {
		put(filepath.Join(folder, "force_clock.go"), strings.Replace(clock, "package bolt", "package "+filepath.Base(folder), 1))
	}
}

func mustRead(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(b)
}

func mustWrite(t testing.TB, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}
