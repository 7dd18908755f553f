package naive

import (
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNamed(t *testing.T) {
	const file = "\xEF\xBB\xBFUser-agent: Lib-Bot/2.1 # ours\nDisallow: /\nuser agent: curtsy\n\nUser-agent: *\nDisallow: /libbot\n"
	for token, want := range map[string]bool{"lib-bot": true, "LIB-BOT": true, "curtsy": true, "lib": false, "libbot": false, "*": false, "": false} {
		assert.Equal(t, want, Named([]byte(file), token), token)
	}
}

// The oracle must be readable at one sitting, without dependencies.
func TestNaiveIsSmallAndImportsNothing(t *testing.T) {
	// Lines that are empty, comment, or nothing but closing brackets do not count.
	idle := regexp.MustCompile(`^\s*(//.*|[})]*)\s*$`)
	for _, name := range []string{"naive.go", "records.go", "rate.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		assert.Emptyf(t, file.Imports, "%s has imports", name)
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		n := 0
		for line := range strings.Lines(string(source)) {
			if !idle.MatchString(line) {
				n++
			}
		}
		assert.LessOrEqualf(t, n, 150, "%s: %d lines of code, want at most 150", name, n)
	}
}
