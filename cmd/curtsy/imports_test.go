package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// imports is the plan: which packages of ours, and which of others, the non-test files of a package may import.
// docs/design.md shows it as a picture. A package or an import that is not listed fails, so that the plan cannot rot.
var imports = map[string][]string{
	"frontier/canon":        {"golang.org/x/net/publicsuffix", "golang.org/x/net/idna"},
	"frontier":              {"frontier/canon"},
	"frontier/frontiertest": {"frontier", "frontier/canon"},
	"frontier/bolt/force":   {},
	"frontier/ndjson":       {"frontier", "frontier/canon"},
	"storage/durable":       {},
	"storage/plainly":       {},
	"frontier/bolt":         {"storage/durable", "frontier", "frontier/canon", "go.etcd.io/bbolt", "go.etcd.io/bbolt/errors", "github.com/klauspost/compress/s2", "github.com/klauspost/compress/zstd"},
	"robots":                {},
	"robots/naive":          {},
	"robots/naive/quick":    {"robots/naive"},
	"storage":               {},
	"storage/mediatype":     {},
	"storage/coding": {"github.com/klauspost/compress/gzip", "github.com/klauspost/compress/flate", "github.com/klauspost/compress/zlib",
		"github.com/klauspost/compress/zstd", "github.com/andybalholm/brotli"},
	"crawler/foreigntest": {},
	"storage/warc":        {"storage/durable", "storage", "storage/coding", "storage/mediatype", "github.com/klauspost/compress/gzip", "github.com/google/uuid"},
	"storage/markup": {"frontier/canon", "storage/mediatype", "github.com/tdewolff/parse/v2", "github.com/tdewolff/parse/v2/css", "golang.org/x/net/html/charset",
		"golang.org/x/text/encoding", "golang.org/x/text/encoding/charmap", "golang.org/x/text/transform"},
	"storage/ledger":   {"storage/durable", "storage", "github.com/klauspost/compress/zstd"},
	"storage/cdxj":     {"storage/durable", "storage", "storage/mediatype", "storage/warc", "frontier/canon"},
	"storage/report":   {"storage/plainly", "storage/durable", "storage", "storage/ledger", "storage/warc", "frontier/canon"},
	"storage/audit":    {"frontier/canon", "storage", "storage/mediatype", "storage/sorted", "storage/warc", "storage/ledger", "robots/naive", "robots/naive/quick", "storage/audit/pauses"},
	"storage/wacz":     {"storage/durable", "storage", "storage/mediatype", "storage/warc", "golang.org/x/net/html", "golang.org/x/net/html/charset"},
	"crawler/scope":    {"frontier/canon", "storage/mediatype"},
	"crawler/optout":   {"frontier/canon"},
	"crawler/fetch":    {"frontier/canon", "storage", "storage/coding", "golang.org/x/time/rate"},
	"crawler/hostlock": {"frontier/canon", "golang.org/x/sys/unix", "golang.org/x/sys/windows"},
	"storage/mirror": {"storage/durable", "storage", "storage/cdxj", "storage/ledger", "storage/markup", "storage/mediatype", "storage/warc", "frontier/canon",
		"golang.org/x/sync/errgroup", "golang.org/x/sys/unix", "golang.org/x/sys/windows", "golang.org/x/text/cases", "golang.org/x/text/unicode/norm"},
	"storage/sorted":          {},
	"storage/audit/pauses":    {},
	"storage/audit/forgery":   {}, // tests alone
	"storage/audit/bundle":    {"storage", "storage/audit", "storage/cdxj", "storage/ledger", "storage/sorted", "storage/wacz", "storage/warc"},
	"storage/audit/accesslog": {"robots/naive", "robots/naive/quick", "storage", "storage/audit", "storage/audit/pauses", "storage/sorted", "github.com/klauspost/compress/zstd"},
	"crawler/extract": {"frontier/canon", "storage/markup", "storage/mediatype", "github.com/PuerkitoBio/goquery", "golang.org/x/net/html", "golang.org/x/net/html/atom",
		"golang.org/x/net/html/charset", "golang.org/x/text/encoding", "golang.org/x/text/encoding/charmap", "golang.org/x/text/transform"},
	"crawler/extract/bare": {"github.com/PuerkitoBio/goquery", "golang.org/x/net/html"},
	"crawler/sitemap":      {"frontier/canon", "storage/mediatype", "golang.org/x/text/encoding", "golang.org/x/text/encoding/htmlindex", "golang.org/x/text/transform"},
	"crawler/trap":         {"frontier/canon"},
	"crawler/mutual":       {},
	"crawler/seats":        {},
	"crawler/crawltest":    {"robots/naive", "storage/audit/pauses"},
	"crawler": {
		"storage/plainly", "crawler/scope", "crawler/fetch", "crawler/extract", "crawler/optout", "crawler/seats", "crawler/sitemap", "crawler/trap", "crawler/mutual", "frontier", "frontier/canon", "robots", "storage", "storage/durable", "storage/mediatype",
		"golang.org/x/sync/errgroup",
	},
	"cmd/curtsy/phrasebook": {},
	"cmd/curtsy": {
		"cmd/curtsy/phrasebook", "crawler", "crawler/extract/bare", "crawler/scope", "crawler/fetch", "crawler/hostlock", "crawler/optout", "crawler/trap", "crawler/crawltest", "frontier", "frontier/canon", "frontier/bolt", "frontier/frontiertest", "frontier/ndjson", "robots",
		"storage", "storage/audit", "storage/audit/accesslog", "storage/audit/bundle", "storage/cdxj", "storage/durable", "storage/ledger", "storage/mediatype", "storage/mirror", "storage/plainly", "storage/report", "storage/wacz", "storage/warc",
		"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/pelletier/go-toml/v2",
		"github.com/pelletier/go-toml/v2/unstable", "github.com/google/pprof/profile", "golang.org/x/sync/errgroup", "golang.org/x/term",
	},
}

func TestImportsFollowThePlan(t *testing.T) {
	root := filepath.Join("..", "..")
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		found[pkg] = true
		allowed, ok := imports[pkg]
		if !ok {
			t.Errorf("package %s is not in the plan", pkg)
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			ours, isOurs := strings.CutPrefix(name, "curtsy/")
			if !isOurs && !strings.Contains(strings.SplitN(name, "/", 2)[0], ".") {
				continue // standard library
			}
			if !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s, which is not in the plan", path, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range imports {
		if !found[pkg] {
			t.Errorf("package %s is in the plan and does not exist", pkg)
		}
	}
}

// The speaker of a standard library package is fixed as well: only crawler/fetch speaks HTTP to others, and robots
// does no I/O.
func TestRobotsAndFrontierDoNoIO(t *testing.T) {
	for _, pkg := range []string{"robots", "robots/naive", "frontier", "storage"} {
		files, err := filepath.Glob(filepath.Join("..", "..", pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files: %v", pkg, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range f.Imports {
				switch spec.Path.Value {
				case `"os"`, `"net"`, `"net/http"`, `"os/exec"`, `"syscall"`:
					t.Errorf("%s imports %s: this package does no I/O", path, spec.Path.Value)
				}
			}
		}
	}
}

// The names at the top are fixed; files that begin with a dot are free.
func TestTopLevelNamesAreFixed(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !strings.HasSuffix(e.Name(), ".test") && !strings.HasSuffix(e.Name(), ".prof") {
			names = append(names, e.Name())
		}
	}
	want := []string{"README.md", "cmd", "crawler", "docs", "frontier", "go.mod", "go.sum", "robots", "storage", "testdata"}
	for _, name := range names {
		if !slices.Contains(want, name) {
			t.Errorf("%s stands at the top; only %v may", name, want)
		}
	}
}
