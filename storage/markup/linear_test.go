package markup

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestXHTML_IsReadInOneGo(t *testing.T) {
	for _, part := range []string{"<svg>", "</svg>", "<a", "<a ", "<style>", "<style/>", "<?", "<?xml-stylesheet ", "<?xml-stylesheet href=", "<!", "<![CDATA[", "<!--", "<!DOCTYPE [", "<math><svg>", "<foreignObject>", "</", "<a href=", "<a href='", "<base ", "&", "<a:b:c>", "<x:style>"} {
		in := strings.Repeat(part, 200_000)
		assert.NoError(t, Find(XHTML, []byte(in), options(t), func(Ref) {}), part)
	}
}
