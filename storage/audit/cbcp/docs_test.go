package cbcp

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table of clauses in docs/reference/cbcp.md anew")

// docs/reference/cbcp.md has each clause as the code has it.
func TestThePageHasTheClausesOfTheCode(t *testing.T) {
	const page, head = "../../../docs/reference/cbcp.md", "| clause | section | -00 | copy | asks to | how it is checked |\n"
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(b), head)
	rows, after, end := strings.Cut(rest, "\n\n")
	if !ok || !end {
		t.Fatal("docs/reference/cbcp.md has no table of clauses")
	}
	var want strings.Builder
	want.WriteString("|---|---|---|---|---|---|")
	for _, c := range Clauses() {
		fmt.Fprintf(&want, "\n| `%s` | %s | %s | %s | %s | %s |", c.ID, c.Section, cmp.Or(c.First, "–"), c.Copy, c.Asks, c.How)
	}
	if rows == want.String() {
		return
	}
	require.True(t, *update, "docs/reference/cbcp.md does not have the table of the code; go test ./storage/audit/cbcp -update writes it")
	require.NoError(t, os.WriteFile(page, []byte(before+head+want.String()+"\n\n"+after), 0o644))
}

// The page says by which numbers clauses are judged that the draft has none for.
func TestThePageHasTheNumbersOfTheCode(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reference/cbcp.md")
	require.NoError(t, err)
	for _, says := range []string{"three failures in a row", fmt.Sprintf("| `loops` | %d requests", loopMax), "| `re-crawl` | two more requests within 24 hours",
		"1,048,576 URLs", fmt.Sprintf("%.0f s, where nothing", unhurried.Seconds()), "or a minute"} {
		assert.Contains(t, string(b), says, "docs/reference/cbcp.md does not say")
	}
	if streakMin != 3 || oftenMax != 2 || maxURLs != 1048576 || longPause.Minutes() != 1 {
		t.Error("a number was changed, and docs/reference/cbcp.md tells the old one")
	}
}
