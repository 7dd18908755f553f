package dashboard

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheTableOfThePageIsThatOfTheCode(t *testing.T) {
	var b strings.Builder
	b.WriteString("| metric | type | label | what |\n|---|---|---|---|\n")
	for _, m := range All() {
		kind, label := "gauge", "–"
		if m.Counts() {
			kind = "counter"
		}
		if m.Label != "" {
			label = "`" + m.Label + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, kind, label, m.Help)
	}
	fmt.Fprintf(&b, "| `%s` | gauge | `version`, `goversion` | %s |\n\n", buildInfo, buildHelp)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "metrics.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "\n"+b.String(), "docs/reference/metrics.md lacks the table")
}

func TestMetrics_AreUniqueAndNamedByConvention(t *testing.T) {
	met := map[string]bool{}
	for _, m := range All() {
		assert.Truef(t, !met[m.Name] && strings.HasPrefix(m.Name, "curtsy_") && m.Label != labelCrawl && strings.HasSuffix(m.Help, "."), "%+v", m)
		met[m.Name] = true
	}
}
