package main

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// wordTypes are the types of package storage whose values storage/words.go spells.
var wordTypes = []string{"Decision", "Kind", "PaceBy", "Outcome", "Change"}

// ledgerWords reports literals of a ledger word type outside storage/words.go.
var ledgerWords = &analysis.Analyzer{
	Name: "ledgerwords",
	Doc:  "a word of the ledger is a constant of package storage",
	Run: func(pass *analysis.Pass) (any, error) {
		if pass.Pkg.Path() == "curtsy/storage" {
			for _, name := range wordTypes {
				if pass.Pkg.Scope().Lookup(name) == nil {
					pass.Reportf(pass.Files[0].Name.Pos(), "storage.%s is gone: correct .lint/vet/words.go", name)
				}
			}
			return nil, nil
		}
		for e, v := range pass.TypesInfo.Types {
			lit, ok := e.(*ast.BasicLit)
			if !ok || lit.Value == `""` || !isWord(v.Type) {
				continue
			}
			file := pass.Fset.Position(lit.Pos()).Filename
			if !strings.HasSuffix(file, "_test.go") {
				pass.Reportf(lit.Pos(), "%s is a word of the ledger: use the constant of package storage", lit.Value)
			}
		}
		return nil, nil
	},
}

func isWord(t types.Type) bool {
	named, ok := t.(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "curtsy/storage" && slices.Contains(wordTypes, named.Obj().Name())
}
