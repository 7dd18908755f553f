package text

import (
	"strings"
	"testing"
	"text/template/parse"

	"github.com/stretchr/testify/assert"
)

// A template does not end with the empty line before the next one in its file.
func TestTemplates_EndWithoutEmptyLines(t *testing.T) {
	t.Parallel()
	for _, each := range templates().Templates() {
		if each.Tree == nil || len(each.Root.Nodes) < 2 {
			continue
		}
		nodes := each.Root.Nodes
		last, isText := nodes[len(nodes)-1].(*parse.TextNode)
		_, action := nodes[len(nodes)-2].(*parse.ActionNode)
		if isText && strings.TrimSpace(string(last.Text)) == "" {
			assert.Truef(t, action && string(last.Text) == "\n", "%s ends with %q", each.Name(), last.Text)
		}
	}
}
