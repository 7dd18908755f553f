package markup

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

const pageURL = "http://h.test/dir/page.html"

func options(t testing.TB) Options {
	t.Helper()
	u, err := canon.Parse(pageURL)
	require.NoError(t, err)
	return Options{URL: u, ContentType: "text/html; charset=utf-8"}
}

type rewriter func([]byte, Options, Visit) ([]byte, error)

func numbered(seen *[]string) Visit {
	return func(r Ref) (string, bool) {
		*seen = append(*seen, line(r))
		return fmt.Sprintf("r%d.x", len(*seen)), true
	}
}

func line(r Ref) string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s", r.Role, r.Element, r.Attr, r.Raw)), " ")
}

// placeTest is a document, its references, and its form with numbers for them.
type placeTest struct{ rule, in, refs, out string }

func tryPlaces(t *testing.T, rewrite rewriter, o Options, tests []placeTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			var seen []string
			out, err := rewrite([]byte(tt.in), o, numbered(&seen))
			require.NoError(t, err)
			got := strings.Join(seen, "; ")
			assert.Truef(t, got == tt.refs, "refs\n got %s\nwant %s", got, tt.refs)
			assert.Equalf(t, tt.out, string(out), "out\n got %s", out)
			same, err := rewrite([]byte(tt.in), o, func(Ref) (string, bool) { return "", false })
			assert.Falsef(t, err == nil && !o.RemoveBase && !o.RemovePolicy && !o.Declare && string(same) != tt.in, "unreplaced\n got %s\nwant %s", same, tt.in)
		})
	}
}

var roleNames = [...]string{"link", "refresh", "cite", "service", "query", "base", "embed", "script", "style", "frame",
	"manifest", "lazy", "preview"}

func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return "unknown"
}
