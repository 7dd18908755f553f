package warc

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryFindingIsDocumented(t *testing.T) {
	src, err := os.ReadFile("lenient.go")
	require.NoError(t, err)
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "archives.md"))
	require.NoError(t, err)
	listed := map[string]bool{}
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !slices.Contains([]string{"yes", "no"}, strings.TrimSpace(cells[2])) {
			continue
		}
		for _, m := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(cells[1], -1) {
			listed[m[1]] = strings.TrimSpace(cells[2]) == "yes"
		}
	}
	codes := regexp.MustCompile(`(?m)^\t[A-Z]\w+ += "([a-z-]+)"`).FindAllStringSubmatch(string(src), -1)
	assert.Truef(t, len(codes) >= 30 && len(codes) == len(listed), "%d codes, %d documented", len(codes), len(listed))
	for _, c := range codes {
		note, ok := listed[c[1]]
		assert.Truef(t, ok && note == (Finding{Code: c[1]}).Note(), "%s: documented %v, as a note %v", c[1], ok, note)
	}
}
