package extract

import (
	"bytes"
	"context"
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
	pages, err := filepath.Glob("testdata/*.html")
	require.NoError(t, err)
	require.GreaterOrEqualf(t, len(pages), 3, "%d pages, %v", len(pages), err)
	for _, name := range pages {
		t.Run(filepath.Base(name), func(t *testing.T) {
			body, err := os.ReadFile(name)
			require.NoError(t, err)
			in := Input{URL: parse(t, "http://h.test/dir/page.html"), Body: bytes.NewReader(body), Size: int64(len(body))}
			page, err := New().HTML(context.Background(), in)
			require.NoError(t, err)
			got := show(page)
			golden := strings.TrimSuffix(name, ".html") + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got)
		})
	}
}

func show(p Page) string {
	var b strings.Builder
	fmt.Fprintf(&b, "title    %q\nbase     %s\ncharset  %s by %s\nrobots   %s %q\n", p.Title, p.Base, p.Charset, p.CharsetBy, p.Robots.String(), p.Robots.Raw)
	fmt.Fprintf(&b, "counts   %d links, %d repeats, %d dropped, refused %v\n", len(p.Links), p.Repeats, p.Dropped, p.Refused)
	for _, l := range p.Links {
		fmt.Fprintln(&b, line(l))
	}
	return b.String()
}
