package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
	"curtsy/storage"
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
		assert.Containsf(t, before, "`"+string(f)+"`", "docs/reference/tables.md does not list the format %s", f)
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

var update = flag.Bool("update", false, "rewrite the tables that follow from the code")

func TestFields_FollowTheSchema(t *testing.T) {
	const head = "| ledger | WARC metadata | type | meaning |"
	var b strings.Builder
	b.WriteString(head + "\n|---|---|---|---|\n")
	salted := false
	for _, f := range storage.Fields() {
		if f.Withheld() && !salted {
			salted = true
			b.WriteString("| `salt` * | | string | 16 random bytes, in hexadecimal digits |\n")
		}
		star, metadata := "", ""
		if f.Always() {
			star = " *"
		}
		if f.Metadata != "" {
			metadata = "`" + f.Metadata + "` "
		}
		fmt.Fprintf(&b, "| `%s`%s | %s| %s | %s |\n", f.JSON, star, metadata, f.Kind(), f.Meaning)
	}
	holds(t, filepath.Join("reference", "fields.md"), head, b.String())
}

func TestFleet_ListsWhatIsRefused(t *testing.T) {
	var table strings.Builder
	table.WriteString("| setting or command | why |\n|---|---|\n")
	for _, u := range crawldir.NotInFleet() {
		fmt.Fprintf(&table, "| `%s` | %s |\n", u.Name, u.Why)
	}
	holds(t, "guides/fleet.md", "| setting or command | why |", table.String())
}

// holds fails unless a page has the table that begins with head. With -update it writes the page.
func holds(t *testing.T, page, head, want string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), head)
	require.Truef(t, ok, "docs/%s has no table %s", page, head)
	rows, after, _ := strings.Cut(head+rest, "\n\n")
	switch {
	case rows+"\n" == want:
	case *update:
		require.NoError(t, os.WriteFile(page, []byte(before+want+"\n"+after), 0o644))
	default:
		t.Errorf("docs/%s does not have the table of the code; go test ./docs -update writes it:\n%s", page, want)
	}
}
