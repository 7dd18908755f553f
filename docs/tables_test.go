package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/tables"
	"curtsy/storage/tables/sink"
)

const tablesHead = "## The tables\n\n"

func TestThePageHasTheTablesOfTheCode(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("reference", "tables.md"))
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), tablesHead)
	require.Truef(t, ok, "docs/reference/tables.md has no heading %s", tablesHead)
	var b strings.Builder
	for _, table := range tables.All() {
		describe(&b, table)
	}
	want := strings.TrimSuffix(b.String(), "\n")
	switch {
	case rest == want:
	case *update:
		require.NoError(t, os.WriteFile(filepath.Join("reference", "tables.md"), []byte(before+tablesHead+want), 0o644))
	default:
		t.Error("docs/reference/tables.md does not have the tables of the code; go test ./docs -update writes them")
	}
	for _, f := range sink.Formats() {
		assert.Containsf(t, before, "`"+string(f)+"`", "docs/reference/tables.md does not say what is written as %s", f)
	}
}

func describe(b *strings.Builder, table *tables.Table) {
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	fmt.Fprintf(b, "### `%s`\n\n%s.\n\n", table.Name, table.Doc)
	if len(table.Key) > 0 {
		fmt.Fprintf(b, "Order: %s.", quote(table.Key))
		if len(table.Lookup) > 0 {
			fmt.Fprintf(b, " SQLite also has an index of %s.", quote(table.Lookup))
		}
		b.WriteString("\n\n")
	}
	b.WriteString("| column | type | null | meaning |\n|---|---|---|---|\n")
	for _, c := range table.Columns {
		null := "may be"
		if c.Required {
			null = "never"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", c.Name, c.Kind, null, cell.Replace(c.Doc))
	}
	b.WriteString("\n")
}

func quote(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }
