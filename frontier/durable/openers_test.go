package durable

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// osOpeners lists the functions of the packages for crawl directories that open a file with package os, and why that is
// safe.
var osOpeners = map[string]string{
	"storage/warc/reader.go:LenientAt":      "a path that a user names, or one of a directory that was inspected",
	"storage/warc/reader.go:Lenient":        "a path of a directory that was inspected, or that a user names",
	"storage/cdxj/store.go:openEarlier":     "an index that a user names",
	"storage/cdxj/original.go:at":           "an archive beside an index that a user names",
	"storage/cdxj/index.go:capturesIn":      "an archive that a user names",
	"storage/cdxj/index.go:lookupFile":      "a path of a directory that was inspected, or that a user names",
	"crawler/control/remote.go:snapshot":    "the permissions of a file that was just made",
	"crawler/crawldir/keyring.go:Read":      "a key of the user's, beside the configuration",
	"storage/wacz/beside.go:lines":          "a temporary file, unpacked from a WACZ",
	"storage/wacz/open.go:entry":            "a temporary file, made there",
	"storage/mirror/swap_linux.go:syncTree": "the directory itself",
	"frontier/durable/durable.go:Output":    "a device that a user names",
	"frontier/durable/durable.go:Names":     "a folder",
	"frontier/durable/names_unix.go:hold":   "a folder",
	"storage/optout/watch.go:write":         "a user's list, or one that was inspected",
	"storage/optout/watch.go:read":          "a user's list, or one that was inspected",
}

func TestCrawlDirectories_AreOpenedWithDurable(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	used := map[string]bool{}
	for _, pkg := range []string{
		"crawler", "crawler/control", "crawler/crawldir", "storage/optout", "frontier/bolt", "frontier/bolt/dbfile", "frontier/bolt/repair",
		"frontier/durable", "storage/warc", "storage/cdxj", "storage/ledger", "storage/ledger/tree", "storage/mirror", "storage/report", "storage/wacz",
	} {
		files, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(pkg)))
		require.NoError(t, err)
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(pkg), f.Name()), nil, 0)
			require.NoError(t, err)
			for _, d := range parsed.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				where := pkg + "/" + f.Name() + ":" + fn.Name.Name
				if opens(fn) && osOpeners[where] == "" {
					t.Errorf("%s opens a file with package os: open it with package durable, or add the reason to osOpeners", where)
				} else if opens(fn) {
					used[where] = true
				}
			}
		}
	}
	for where := range osOpeners {
		assert.Truef(t, used[where], "%s no longer opens anything with package os", where)
	}
}

func opens(fn *ast.FuncDecl) (found bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := s.X.(*ast.Ident)
		if ok && pkg.Name == "os" {
			switch s.Sel.Name {
			case "Open", "OpenFile", "Create", "ReadFile", "WriteFile", "Truncate", "DirFS", "Chmod", "Chtimes":
				found = true
			}
		}
		return true
	})
	return found
}
