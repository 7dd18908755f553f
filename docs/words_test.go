package docs

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wordTypes are the types of package storage whose values storage/words.go spells.
var wordTypes = []string{"Decision", "Kind", "PaceBy", "Outcome", "Change"}

// TestLedgerWords_AreSpelledOnce: a literal that the compiler takes for a word of the ledger stands in storage/words.go alone.
func TestLedgerWords_AreSpelledOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("checks the types of the whole module")
	}
	fset := token.NewFileSet()
	exports, ours := map[string]string{}, []listed{}
	for _, p := range list(t, "-deps", "-export", "../...") {
		exports[p.ImportPath] = p.Export
		if slices.Contains(p.Imports, module+"storage") {
			ours = append(ours, p)
		}
	}
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.New("no export data of " + path)
		}
		return os.Open(exports[path])
	})
	checked := 0
	for _, p := range ours {
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, f)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, files, info); err != nil {
			t.Fatal(err)
		}
		checked += len(files)
		for e, v := range info.Types {
			if lit, ok := e.(*ast.BasicLit); ok && lit.Value != `""` && isWord(v.Type) {
				t.Errorf("%s: %s is a word of the ledger: use the constant of package storage", fset.Position(e.Pos()), lit.Value)
			}
		}
	}
	assert.GreaterOrEqualf(t, checked, 100, "only %d files were checked", checked)
}

// isWord reports whether a type is one of words.
func isWord(t types.Type) bool {
	named, ok := t.(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == module+"storage" && slices.Contains(wordTypes, named.Obj().Name())
}

// listed is a package as go list has it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string
}

func list(t *testing.T, args ...string) (ps []listed) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Export,GoFiles,Imports"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	require.NoError(t, err)
	for d := json.NewDecoder(out); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	require.NoError(t, cmd.Wait())
	return ps
}
