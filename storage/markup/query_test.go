package markup

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// HTML Standard 2.4.3: a query is in the document's charset; path and fragment are not.
func TestEncodeQuery_IsInTheDocumentsCharset(t *testing.T) {
	for _, c := range []struct{ ref, charset, want string }{
		{"q?x=été", "iso-8859-1", "q?x=%E9t%E9"},
		{"q?x=été", "windows-1252", "q?x=%E9t%E9"},
		{"q?x=日本", "shift_jis", "q?x=%93%FA%96{"},
		{"q?x=日本", "euc-jp", "q?x=%C6%FC%CB%DC"},
		{"q?x=−1", "shift_jis", "q?x=%81|1"},
		{"q?x=−1", "euc-jp", "q?x=%A1%DD1"},
		{"q?x=−1", "iso-2022-jp", "q?x=%1B$B!]%1B(B1"},
		{"q?x=¥‾", "shift_jis", "q?x=\\~"},
		{"q?x=¥‾", "euc-jp", "q?x=\\~"},
		{"q?x=日本", "windows-1252", "q?x=%26%2326085%3B%26%2326412%3B"},
		{"q?a=é日é", "windows-1252", "q?a=%E9%26%2326085%3B%E9"},
		{"é?é#é", "windows-1252", "é?%E9#é"},
		{"é#a?é", "windows-1252", "é#a?é"},
		{"q?x=é", "utf-8", "q?x=é"},
		{"q?x=é", "", "q?x=é"},
		{"q?x=é", "utf-16le", "q?x=é"},
		{"q?x=%C3%A9&y='", "windows-1252", "q?x=%C3%A9&y='"},
		{"q?x=é&y='a b", "windows-1252", "q?x=%E9&y=%27a%20b"},
		{"q?x=é", "no such charset", "q?x=é"},
	} {
		assert.Equalf(t, c.want, EncodeQuery(c.ref, c.charset), "%s in %s", c.ref, c.charset)
	}
}
