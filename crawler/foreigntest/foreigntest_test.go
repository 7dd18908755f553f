package foreigntest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/dev/foreign-tests.md")

const page = "../../docs/dev/foreign-tests.md"

func TestDocument_AgreesWithFiles(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Tests of other projects

Generated from crawler/foreigntest/cases by: go test ./crawler/foreigntest -update

Each file contains inputs and expected results of a test suite as data, with source, version and licence; code and comments are
not included. The tests run every case. A numbered difference marks a case where curtsy decides otherwise on purpose; a
difference that no longer occurs fails the test.

| file | tests | source | version | licence | cases | different |
|---|---|---|---|---|---|---|
`)
	var reasons strings.Builder
	for _, name := range Names() {
		src, cases, err := Read(name)
		require.NoError(t, err)
		if src.Name == "" || src.From == "" || src.Version == "" || src.License == "" || len(src.Asks) == 0 || len(cases) == 0 {
			t.Errorf("%s does not name its source: %+v", name, src)
		}
		times := map[int]int{}
		for _, c := range cases {
			times[c.Differs]++
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %d | %d |\n", name, src.Name, src.From, src.Version, src.License, len(cases), len(cases)-times[0])
		for i, reason := range src.Differences {
			assert.NotEqualf(t, 0, times[i+1], "%s: no case has difference %d", name, i+1)
			fmt.Fprintf(&reasons, "| `%s` | %d | %d | %s |\n", name, i+1, times[i+1], reason)
		}
	}
	b.WriteString("\n## Differences\n\n| file | number | cases | reason |\n|---|---|---|---|\n" + reasons.String())
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, b.String(), string(got), "docs/dev/foreign-tests.md is stale; write it with: go test ./crawler/foreigntest -update")
}
