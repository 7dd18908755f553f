package audit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit/finding"
)

// Each code of the archive itself is found by a family of rules or by the reader, and docs/reference/audit-findings.md has a row for it.
func TestEachCodeHasItsJudge(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "audit-findings.md"))
	require.NoError(t, err)
	judged := map[finding.Code]bool{finding.Digest: true} // which package evidence checks
	for _, f := range families {
		if f.name == "" || f.by == "" || f.judge == nil {
			t.Errorf("a family without name, documents or judge: %+v", f)
		}
		for _, c := range f.codes {
			judged[c] = true
			assert.Containsf(t, string(doc), "\n| `"+string(c)+"` |", "docs/reference/audit-findings.md has no row for %s", c)
		}
	}
	for _, c := range finding.Codes() {
		if beside := c == finding.LedgerLines; beside { // with which begins what witnesses find
			break
		}
		assert.Truef(t, judged[c], "nobody judges %s", c)
	}
}
