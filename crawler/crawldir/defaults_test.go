package crawldir

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/hostrule"
)

// A default stands in one place. Settings name those of the packages that use them, and these name their constants: a
// number or a word in any of the functions that fill in what was left out would be a second place.
func TestDefaultsStandOnce(t *testing.T) {
	own := map[string]bool{"MemoryLimit": true} // of nobody else
	for file, name := range map[string]string{
		"settings.go": "Defaults", "../config.go": "withDefaults", "../fetch/config.go": "defaults", "../scope/config.go": "check",
	} {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, 0)
		require.NoError(t, err)
		found := false
		literal := func(field string, value ast.Expr) {
			ast.Inspect(value, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Value != "0" && l.Value != "1" && !own[field] {
					t.Errorf("%s: the default of %s is written here: name a constant", set.Position(l.Pos()), field)
				}
				return true
			})
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != name {
				continue
			}
			found = true
			ast.Inspect(fn, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.KeyValueExpr:
					if field, ok := n.Key.(*ast.Ident); ok {
						literal(field.Name, n.Value)
					}
				case *ast.AssignStmt:
					if field, ok := n.Lhs[0].(*ast.SelectorExpr); ok {
						literal(field.Sel.Name, n.Rhs[0])
					}
				}
				return true
			})
		}
		assert.Truef(t, found, "%s has no function %s", file, name)
	}
}

// After a kill a host whose pace the operator has lengthened waits for that, and no other host does.
func TestAfterAKillAHostSettingHolds(t *testing.T) {
	s := Defaults()
	s.Hosts = hostrule.Rules{{Match: "a.test", Delay: 20 * time.Second}}
	o := s.FrontierOptions()
	for host, want := range map[string]time.Duration{"a.test": 20 * time.Second, "b.test": time.Second} {
		c, err := Seed("http://"+host+"/", "")
		require.NoError(t, err)
		assert.Equal(t, want, o.RestartPace(c.URL.Authority()), host)
	}
}
