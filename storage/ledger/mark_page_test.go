package ledger

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func page(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "ledger.md"))
	require.NoError(t, err)
	return string(b)
}

func TestPageListsEveryFieldOfAMark(t *testing.T) {
	text := page(t)
	names := 0
	f, err := os.Open("mark.go")
	require.NoError(t, err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		_, tag, ok := strings.Cut(s.Text(), "`json:\"")
		if !ok {
			continue
		}
		name := tag[:strings.IndexAny(tag, `,"`)]
		if names++; !strings.Contains(text, "`"+name+"`") && name != "-" {
			t.Errorf("the field %s is not there", name)
		}
	}
	assert.GreaterOrEqual(t, names, 50, "fields")
}
