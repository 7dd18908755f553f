package markup

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Whatever a page in XML repeats, it is read in one go: the bytes that are looked at would else be beyond all bounds.
func TestXHTML_IsReadInOneGo(t *testing.T) {
	for _, part := range []string{"<svg>", "</svg>", "<a", "<a ", "<style>", "<style/>", "<?", "<?xml-stylesheet ", "<?xml-stylesheet href=", "<!", "<![CDATA[", "<!--", "<!DOCTYPE [", "<math><svg>", "<foreignObject>", "</", "<a href=", "<a href='", "<base ", "&", "<a:b:c>", "<x:style>"} {
		in := strings.Repeat(part, 200_000)
		assert.NoError(t, Find(XHTML, []byte(in), options(t), func(Ref) {}), part)
	}
}
