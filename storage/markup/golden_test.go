package markup

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestGolden(t *testing.T) {
	for file, rewrite := range map[string]rewriter{"torture.html": HTML, "sheet.css": CSS, "drawing.svg": SVG, "app.webmanifest": Manifest} {
		t.Run(file, func(t *testing.T) {
			in, err := os.ReadFile(filepath.Join("testdata", file))
			require.NoError(t, err)
			o := options(t)
			o.ContentType, o.RemoveBase, o.RemovePolicy, o.Previews = "", true, true, true
			var seen []string
			o.Removed = func(r Removal) {
				seen = append(seen, strings.TrimRight(fmt.Sprintf("- %s %s %s", r.Element, r.Attr, r.Value), " "))
			}
			n := 0
			out, err := rewrite(in, o, func(r Ref) (string, bool) {
				u, err := r.URL()
				seen = append(seen, fmt.Sprintf("%s = %s", line(r), u))
				n++
				return fmt.Sprintf("f/%d.x", n), err == nil
			})
			require.NoError(t, err)
			golden(t, file+".out", string(out))
			golden(t, file+".refs", strings.Join(seen, "\n")+"\n")
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equalf(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got, "%s: got\n%s\nwant\n%s", name, got, want)
}
