// Package foreigntest runs test vectors from the test suites of other projects.
//
// A file is lines of JSON. The first is a Source. Each other line is a case: an array of the inputs, in the order of
// Source.Asks, and the verdict. Where curtsy decides otherwise, its answer and the number of the difference follow; the
// reasons are in Source.Differences and docs/dev/foreign-tests.md.
package foreigntest

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed cases/*.jsonl
var files embed.FS

// Source is the origin of the cases of a file.
type Source struct {
	Name        string   `json:"name"` // of the suite and its part
	From        string   `json:"from"` // repository and path
	Version     string   `json:"version"`
	License     string   `json:"license"`
	Asks        []string `json:"asks"`        // names of the inputs of a case
	Differences []string `json:"differences"` // reasons, numbered from 1
}

// Case is one test vector.
type Case struct {
	Line    int      // of its file
	Asked   []string // inputs
	Verdict string   // of the suite
	Ours    string   // expected answer; the suite's verdict, unless Differs
	Differs int      // number of the difference; zero for none
}

// Read returns the cases of a file.
func Read(name string) (Source, []Case, error) {
	b, err := files.ReadFile("cases/" + name + ".jsonl")
	if err != nil {
		return Source{}, nil, fmt.Errorf("foreigntest: %w", err)
	}
	var src Source
	var cases []Case
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if n == 1 {
			err = json.Unmarshal(lines.Bytes(), &src)
		} else {
			var c Case
			c, err = parse(lines.Bytes(), src)
			c.Line = n
			cases = append(cases, c)
		}
		if err != nil {
			return src, nil, fmt.Errorf("foreigntest: %s line %d: %w", name, n, err)
		}
	}
	return src, cases, lines.Err()
}

func parse(line []byte, src Source) (c Case, err error) {
	var fields []any
	if err := json.Unmarshal(line, &fields); err != nil {
		return c, err
	}
	var text []string
	for _, f := range fields {
		switch f := f.(type) {
		case string:
			text = append(text, f)
		case float64:
			c.Differs = int(f)
		}
	}
	want := len(src.Asks) + 1
	if c.Differs != 0 {
		want++
	}
	if len(text) != want || c.Differs < 0 || c.Differs > len(src.Differences) {
		return c, fmt.Errorf("%d strings and difference %d; it asks for %q and knows %d differences", len(text), c.Differs, src.Asks, len(src.Differences))
	}
	c.Asked, c.Verdict, c.Ours = text[:len(src.Asks)], text[len(src.Asks)], text[want-1]
	if c.Differs != 0 && c.Ours == c.Verdict {
		return c, fmt.Errorf("difference %d, and none is there", c.Differs)
	}
	return c, nil
}

// Names returns the names of all files of cases.
func Names() []string {
	entries, err := files.ReadDir("cases")
	if err != nil {
		panic(err) // they are compiled in
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name()[:len(e.Name())-len(".jsonl")])
	}
	slices.Sort(names)
	return names
}

// Run compares answer with each case of a file. A difference that no longer occurs is an error.
func Run(t *testing.T, name string, answer func(asked []string) string) {
	t.Helper()
	_, cases, err := Read(name)
	require.NoError(t, err)
	wrong := 0
	for _, c := range cases {
		got := answer(c.Asked)
		if got == c.Ours {
			continue
		}
		if wrong++; wrong > 20 {
			t.Fatalf("%s: more than 20 of %d cases", name, len(cases))
		}
		t.Errorf("%s line %d: %q: %q, want %q (difference %d)", name, c.Line, c.Asked, got, c.Ours, c.Differs)
	}
}

// Clients returns the folder of Node modules in .ci/clients, for a test of a package two folders below the root. The test
// is skipped without node, warcio or one of the others, and fails if CURTSY_MUST_RUN is set.
func Clients(t testing.TB, others ...string) string {
	t.Helper()
	_, err := exec.LookPath("node")
	dir, bad := filepath.Abs(filepath.Join("..", "..", ".ci", "clients", "node_modules"))
	require.NoError(t, bad)
	for _, name := range append(others, "warcio") {
		if err == nil {
			_, err = os.Stat(filepath.Join(dir, name))
		}
	}
	switch {
	case err != nil && os.Getenv("CURTSY_MUST_RUN") != "":
		t.Fatalf("CURTSY_MUST_RUN is set: %v", err)
	case err != nil:
		t.Skipf("the foreign readers are not installed (npm ci --ignore-scripts in .ci/clients): %v", err)
	}
	return dir
}

// shareVar names a folder with the documentation of Debian packages, as /usr/share. Tests read no other folder of the
// machine.
const shareVar = "CURTSY_SHARE"

// Corpus returns a folder of a Debian package, relative to /usr/share, with links resolved. The test is skipped with
// -short, and if CURTSY_SHARE is not set or lacks the folder; with CURTSY_MUST_RUN it fails instead of the latter.
func Corpus(t testing.TB, folder, pkg string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it reads the documentation of Debian's package " + pkg)
	}
	share := os.Getenv(shareVar)
	root, err := filepath.EvalSymlinks(filepath.Join(share, filepath.FromSlash(folder)))
	switch {
	case share != "" && err == nil:
		return root
	case os.Getenv("CURTSY_MUST_RUN") != "":
		t.Fatalf("%s=%s has no %s of Debian's package %s, and CURTSY_MUST_RUN is set", shareVar, share, folder, pkg)
	case share == "":
		t.Skipf("%s is not set: it names a folder with %s of Debian's package %s", shareVar, folder, pkg)
	default:
		t.Skipf("%v: install Debian's package %s", err, pkg)
	}
	return ""
}

// HasCorpora reports whether CURTSY_SHARE or CURTSY_MUST_RUN asks for corpora, and -short does not exclude them.
func HasCorpora() bool {
	return !testing.Short() && (os.Getenv(shareVar) != "" || os.Getenv("CURTSY_MUST_RUN") != "")
}
