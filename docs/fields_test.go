package docs

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"curtsy/crawler/crawldir"
	"curtsy/storage"
)

var update = flag.Bool("update", false, "write the tables that follow from the code anew")

// docs/ledger.md and docs/warc.md have the table of storage.Fields, in their order.
func TestTheTablesOfFieldsFollowTheSchema(t *testing.T) {
	var ledger, metadata strings.Builder
	ledger.WriteString("| field | type | meaning |\n|---|---|---|\n")
	salted := false
	for _, f := range storage.Fields() {
		if f.Withheld() && !salted {
			salted = true
			ledger.WriteString("| `salt` * | string | 16 random octets, in hexadecimal digits |\n")
		}
		star := ""
		if f.Always() {
			star = " *"
		}
		fmt.Fprintf(&ledger, "| `%s`%s | %s | %s |\n", f.JSON, star, f.Kind(), f.Meaning)
	}
	metadata.WriteString("| field | in the ledger | meaning |\n|---|---|---|\n")
	for _, f := range storage.InMetadata() {
		fmt.Fprintf(&metadata, "| `%s` | `%s` | %s |\n", f.Metadata, f.JSON, f.Meaning)
	}
	metadata.WriteString("| `outlink` | – | a link found and its kind, for the first 6,000 |\n" +
		"| `outlinksLeftOut` | – | how many links are not named: more than 6,000, or with white space in them |\n")
	holds(t, "ledger.md", "| field | type | meaning |", ledger.String())
	holds(t, "warc.md", "| field | in the ledger | meaning |", metadata.String())
}

// docs/fleet.md lists what crawls with a shared frontier refuse.
func TestFleet_ListsWhatIsRefused(t *testing.T) {
	var table strings.Builder
	table.WriteString("| setting or command | why |\n|---|---|\n")
	for _, u := range crawldir.NotInFleet() {
		fmt.Fprintf(&table, "| `%s` | %s |\n", u.Name, u.Why)
	}
	holds(t, "fleet.md", "| setting or command | why |", table.String())
}

// holds fails unless a page has the table that begins with head as it should be. With -update it writes the page.
func holds(t *testing.T, page, head, want string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), head)
	if !ok {
		t.Fatalf("docs/%s has no table %s", page, head)
	}
	rows, after, _ := strings.Cut(head+rest, "\n\n")
	switch {
	case rows+"\n" == want:
	case *update:
		if err := os.WriteFile(page, []byte(before+want+"\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/%s does not have the table of the code; go test ./docs -update writes it:\n%s", page, want)
	}
}
