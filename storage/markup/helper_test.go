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

// numbered replaces each reference by its number, r1.x and so on, and lists what it saw.
func numbered(seen *[]string) Visit {
	return func(r Ref) (string, bool) {
		*seen = append(*seen, line(r))
		return fmt.Sprintf("r%d.x", len(*seen)), true
	}
}

// line shows a reference: "embed img src a.png".
func line(r Ref) string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s", r.Role, r.Element, r.Attr, r.Raw)), " ")
}

// place is a test of one place: a document, the references in it, and how it is written with numbers for them.
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

// String returns the name of the role in small letters.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return "unknown"
}
