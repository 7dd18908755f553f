package crawlcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
