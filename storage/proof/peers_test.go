//go:build peers

package proof

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func program(t testing.TB, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it runs " + name)
	}
	path, err := exec.LookPath(name)
	if err == nil && name == "python3" { // it may be a stub that starts nothing
		err = exec.Command(path, "-c", "import hashlib, zipfile").Run()
	}
	if err != nil {
		require.Emptyf(t, os.Getenv("CURTSY_MUST_RUN"), "%s does not run (%v), and CURTSY_MUST_RUN is set", name, err)
		t.Skipf("%s does not run: %v", name, err)
	}
	return path
}

func byPython(t testing.TB, python string, bundle []byte, o Options) (code int, output string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bundle.zip")
	require.NoError(t, os.WriteFile(file, bundle, 0o644))
	args := []string{filepath.Join("..", "..", "docs", "verify.py"), file}
	if !o.Key.IsZero() {
		args = append(args, "--key", o.Key.String())
	}
	for _, k := range o.Witnesses {
		args = append(args, "--witness-key", k.String())
	}
	out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), string(out)
	} else if err != nil {
		t.Fatal(err)
	}
	return 0, string(out)
}

func TestPeers_PythonComesToTheSame(t *testing.T) {
	python := program(t, "python3")
	w, note, all := forgeries(t)
	o := Options{Key: w.signer.Key(), Witnesses: keysOf(testWitness(t))}
	agree := func(name string, bundle []byte, o Options) {
		t.Helper()
		holds := verified(t, bundle, o).Holds
		if code, output := byPython(t, python, bundle, o); code != map[bool]int{true: 0, false: 3}[holds] {
			t.Errorf("%s: we say %v, Python ends with %d:\n%s", name, holds, code, output)
		}
	}
	for _, host := range []string{"a.test", "b.test", "c.test", "nobody.test", "x.test"} {
		b := w.bundle(host, note)
		require.Truef(t, verified(t, b, o).Holds, "%s: an honest bundle is refused", host)
		agree(host, b, o)
	}
	agree("no key", w.bundle("b.test", note), Options{})
	for _, f := range all {
		if f.want == BadPage {
			continue // it does not read the page, and reports that
		}
		m := unpacked(t, w.bundle("a.test", note))
		f.forge(t, m)
		agree(f.name, m.packed(t), o)
	}
	agree("a stranger's key", w.bundle("a.test", note), Options{Key: testSigner(t, 7).Key()})
	agree("a stranger's witness", w.bundle("a.test", note), Options{Witnesses: keysOf(testSigner(t, 7))})
	b, _ := withoutTwoLines(t)
	agree("redacted lines", b, Options{})
}

func TestPeers_PythonEndsWithTheSameCode(t *testing.T) {
	python := program(t, "python3")
	for _, j := range append(ambiguous(t), rotated(t)...) {
		if code, output := byPython(t, python, j.bundle, j.o); code != j.code && (j.code >= 0 || code == 0) {
			t.Errorf("%s: Python ends with %d, want %d: %s", j.name, code, j.code, output)
		}
	}
}

func TestPeers_PythonReportsPartialMap(t *testing.T) {
	python := program(t, "python3")
	for past, want := range map[int]int{30: 0, mostPast + 30: 3} {
		w, b := mappedUpTo2(t, past)
		code, output := byPython(t, python, b, Options{Key: w.signer.Key()})
		if code != want || code == 0 && !strings.Contains(output, "no others in the first 2 of") {
			t.Errorf("%d: Python ends with %d: %s", past, code, output)
		}
	}
}
