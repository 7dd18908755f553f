package crawlcmd

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
)

func fresh() *initing { return &initing{settings: crawldir.Defaults()} }

func never(string) bool { return false }

func TestInit_RepeatsInvalidQuestions(t *testing.T) {
	in := fresh()
	var output strings.Builder
	err := in.ask(strings.NewReader(strings.Join([]string{
		"", "The \x1b[31mLibrary", " The Library ", // an empty answer, a control character
		"A yearly archive.",
		"nobody", "me@example.com", "mailto:crawl@library.org", // no contact, a reserved one
		"One year.",
		"Googlebot", "libbot 2", "libbot", // taken, no token
		"library.org", "https://WWW.library.org/bot", // no URL
		"192.0.2.1/99", "192.0.2.17/28, 2001:db8::1", // no network
	}, "\n")+"\n"), &output, never)
	require.NoError(t, err)
	if in.settings.Operator != "The Library" || in.settings.Purpose != "A yearly archive." || in.kept.Contact != "crawl@library.org" ||
		in.kept.Retention != "One year." || in.settings.Agent != "libbot" || in.kept.URL != "https://www.library.org/bot" ||
		in.ranges != "192.0.2.16/28 2001:db8::1/128" {
		t.Errorf("%+v", in)
	}
	if n := strings.Count(output.String(), "That will not do:"); n != 8 || strings.Contains(output.String(), "\x1b") {
		t.Errorf("%d answers were refused:\n%s", n, output.String())
	}
	for line := range strings.Lines(output.String()) {
		if line = strings.TrimPrefix(line, "> "); len([]rune(line)) > 81 {
			t.Errorf("a line of %d columns: %s", len([]rune(line)), line)
		}
	}
}

// An empty line keeps the earlier answer, and is an answer only to optional questions.
func TestInit_EmptyLineKeepsAnswer(t *testing.T) {
	in := fresh()
	in.settings.Operator, in.settings.Purpose, in.kept.Contact, in.kept.Retention = "Ada", "A thesis.", "ada@library.org", "One year."
	before := *in
	var output strings.Builder
	require.NoError(t, in.ask(strings.NewReader(strings.Repeat("\n", 7)), &output, never))
	if in.settings.Operator != before.settings.Operator || in.settings.Agent != "curtsy" || in.kept.Contact != before.kept.Contact ||
		in.kept.URL != "" || in.ranges != "" {
		t.Errorf("%+v", in)
	}
	assert.Contains(t, output.String(), "Enter for: Ada\n", "the earlier answer is not shown")
}

func TestInit_SkipsQuestionsWithFlags(t *testing.T) {
	var output strings.Builder
	require.NoError(t, fresh().ask(strings.NewReader(""), &output, func(string) bool { return true }))
	assert.Empty(t, output.String())
}

func TestInit_RejectsEarlyEnd(t *testing.T) {
	for _, given := range []string{"", "The Library\n", "The Library", "The Library\n\n"} {
		err := fresh().ask(strings.NewReader(given), io.Discard, never)
		if err == nil || !strings.Contains(err.Error(), "nothing was written") {
			t.Errorf("%q: %v", given, err)
		}
	}
	err := fresh().ask(strings.NewReader(strings.Repeat("a", 2*maxAnswer)), io.Discard, never)
	if err == nil || !strings.Contains(err.Error(), "more than 64 KiB") {
		t.Errorf("an endless answer: %v", err)
	}
}

func TestNoneTakesRangesBack(t *testing.T) {
	got, err := checkRanges(none)
	require.NoError(t, err)
	assert.Empty(t, got)
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestIdentitySetKeepsTheRestOfTheFile(t *testing.T) {
	path := write(t, "# mine\ncontact = 'mailto:old@library.org' # old\nworkers = 3\n")
	require.NoError(t, setKeys(path, map[string]string{"contact": "mailto:new@library.org", "operator": `The "Library"`}))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	want := "# mine\ncontact = 'mailto:new@library.org'\nworkers = 3\noperator = 'The \"Library\"'\n"
	assert.Equalf(t, want, string(b), "the file is\n%s", b)
}

// A line that looks like a key may be part of a multi-line string.
func TestIdentitySetChangesNothingElse(t *testing.T) {
	text := "operator = \"\"\"\ncontact = 3\n\"\"\"\n"
	path := write(t, text)
	err := setKeys(path, map[string]string{"contact": "new@library.org"})
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "by hand") {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != text {
		t.Errorf("%q, %v", b, err)
	}
	broken := write(t, "workers = 3\nx y\n")
	if err := setKeys(broken, map[string]string{"contact": "new@library.org"}); err == nil || !strings.Contains(err.Error(), "c.toml:2:3: ") {
		t.Errorf("%v", err)
	}
}
