package sitemap

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestRead_FilesAsSitesHaveThem(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "testdata", "sitemap", "*"))
	require.NoError(t, err)
	read := 0
	for _, path := range paths {
		if strings.HasSuffix(path, ".golden") {
			continue
		}
		read++
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		got := golden(t, string(body))
		if *update {
			require.NoError(t, os.WriteFile(path+".golden", []byte(got), 0o666))
		}
		want, err := os.ReadFile(path + ".golden")
		require.NoError(t, err)
		assert.Equalf(t, string(want), got, "%s:\n%s\nwant\n%s", path, got, want)
		assert.Equalf(t, got, golden(t, zip(string(body))), "%s, as gzip", path)
	}
	assert.GreaterOrEqual(t, read, 6, "files were read")
}

func golden(t *testing.T, body string) string {
	got, report := entriesOf(t, body, "")
	var b strings.Builder
	fmt.Fprintf(&b, "format %s\n", report.Format)
	for _, e := range got {
		b.WriteString(e.URL.String())
		if e.Map {
			b.WriteString(" map")
		}
		if !e.LastMod.IsZero() {
			fmt.Fprintf(&b, " lastmod=%s", e.LastMod.Format("2006-01-02T15:04:05.999Z07:00"))
		}
		if e.ChangeFreq != "" {
			fmt.Fprintf(&b, " changefreq=%s", e.ChangeFreq)
		}
		b.WriteString("\n")
	}
	for _, reason := range slices.Sorted(maps.Keys(report.Refused)) {
		fmt.Fprintf(&b, "refused %d: %s\n", report.Refused[reason], reason)
	}
	if report.Finding != nil {
		fmt.Fprintf(&b, "finding %s\n", report.Finding)
	}
	return b.String()
}
