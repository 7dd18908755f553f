package text

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWideLinesAreBrokenAtSpacesBelowTheirText(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 20))
	for in, want := range map[string]string{
		"short\n\nlines\n": "short\n\nlines\n",
		words + "\n":       strings.TrimSpace(strings.Repeat("word ", 16)) + "\n  " + strings.TrimSpace(strings.Repeat("word ", 4)) + "\n",
		"      required  " + words: "      required  " + strings.TrimSpace(strings.Repeat("word ", 13)) + "\n" +
			strings.Repeat(" ", 16) + strings.TrimSpace(strings.Repeat("word ", 7)),
		"  " + strings.Repeat("x", 100): "  " + strings.Repeat("x", 100),
	} {
		assert.Equal(t, want, Wrap(in), in)
	}
}
