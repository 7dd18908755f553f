package tables

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGraphsAreDocumentedAsTheyAre(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "export.md"))
	require.NoError(t, err)
	var want strings.Builder
	for _, table := range []*Table{&Vertices, &Edges} {
		for _, c := range table.Columns {
			fmt.Fprintf(&want, "| `%s.%s` | %s | %s |\n", table.Name, c.Name, c.Kind, c.Doc)
		}
	}
	assert.Contains(t, string(page), want.String(), "docs/guides/export.md lacks these rows, together")
}
