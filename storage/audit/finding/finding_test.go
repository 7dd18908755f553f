package finding

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCodesAreAllCodesOnce(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "finding.go", nil, 0)
	require.NoError(t, err)
	var declared []string
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, value := range v.Values {
			if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				word, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				declared = append(declared, word)
			}
		}
		return true
	})
	var listed []string
	for _, c := range Codes() {
		listed = append(listed, string(c))
	}
	slices.Sort(declared)
	slices.Sort(listed)
	if len(declared) < 20 || !slices.Equal(declared, listed) || len(slices.Compact(listed)) != len(declared) {
		t.Errorf("declared %q\nlisted   %q", declared, listed)
	}
}

func TestText_CutAtBound(t *testing.T) {
	whole := strings.Repeat("a", MaxText)
	for given, want := range map[string]string{"": "", whole: whole, whole + "b": whole + "…"} {
		if got := Short(given); got != want {
			t.Errorf("of %d bytes %d are left", len(given), len(got))
		}
	}
}

func TestTimesAreWrittenTheSameEverywhere(t *testing.T) {
	at := time.Date(2026, 3, 1, 1, 2, 3, 4_999_999, time.FixedZone("", 2*3600))
	assert.Equal(t, "2026-02-28T23:02:03.004Z", Clock(at))
	assert.Equal(t, "1.234568s", Round(1_234_567_500*time.Nanosecond))
}

func TestTheFieldsOfAFinding(t *testing.T) {
	got, err := json.Marshal(Finding{Code: Gap, Place: Place{File: "1.warc.gz"}, Required: "r", Observed: "o"})
	if want := `{"code":"gap","file":"1.warc.gz","offset":0,"required":"r","observed":"o"}`; string(got) != want ||
		err != nil {
		t.Errorf("%s, error %v; want %s", got, err, want)
	}
}

func TestCodes_EachHasWords(t *testing.T) {
	for _, c := range Codes() {
		assert.NotEmptyf(t, c.Words(), "%s has none", c)
	}
}
