// Package docs holds the tests that read the pages of this folder.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A house is the program as it stands in the files, tests apart: package by package, named by its folder.
type house map[string]*room

// A room is one package.
type room struct {
	imports map[string]string // import path, without the module's name → one file that has it
}

const module = "curtsy/"

// readHouse parses every file that a build could hold, for whatever system.
func readHouse(t *testing.T) house {
	t.Helper()
	root := ".."
	h := house{}
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
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		if h[pkg] == nil {
			h[pkg] = &room{imports: map[string]string{}}
		}
		h[pkg].add(f, path)
		return nil
	})
	if err != nil || len(h) < 20 {
		t.Fatalf("%d packages: %v", len(h), err)
	}
	return h
}

func (r *room) add(f *ast.File, path string) {
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			r.imports[strings.TrimPrefix(name, module)] = path
		}
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// words are the names in backquotes of a cell.
func words(cell string) (ws []string) {
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		ws = append(ws, m[1])
	}
	return ws
}

// table reads the first table below a heading of a page of docs: its rows without the head, each as its cells. It has a row
// at least.
func table(t *testing.T, page, heading string) (rows [][]string) {
	t.Helper()
	if rows = rowsOf(t, page, heading); len(rows) == 0 {
		t.Fatalf("docs/%s: the table below %q is empty", page, heading)
	}
	return rows
}

// rowsOf is table for one that may be empty.
func rowsOf(t *testing.T, page, heading string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, below, ok := strings.Cut("\n"+string(text), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("docs/%s has no heading %q", page, heading)
	}
	for line := range strings.Lines(below) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "|"):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		case len(rows) > 0 || strings.HasPrefix(line, "## "):
			if len(rows) < 2 {
				t.Fatalf("docs/%s: there is no table below %q", page, heading)
			}
			return rows[2:]
		}
	}
	t.Fatalf("docs/%s: no table ends below %q", page, heading)
	return nil
}

// The files that docs/design.md sends people to are there.
func TestAChangeGoesWhereThereIsSomething(t *testing.T) {
	for _, row := range table(t, "design.md", "## Where a change goes") {
		for _, path := range words(row[1]) {
			if !strings.Contains(path, "/") { // beside the one before it
				continue
			}
			if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(path))); err != nil {
				t.Errorf("%s: %v", row[0], err)
			}
		}
	}
}

// docs/design.md says what each package may import of ours, and docs/dependencies.md which package is the home of each
// library. A package, an import or a row too many fails, so that neither page can rot.
func TestImportsFollowTheDesign(t *testing.T) {
	h, homes := readHouse(t), libraries(t)
	planned := map[string]bool{}
	for _, row := range table(t, "design.md", "## Packages") {
		pkg := words(row[0])[0]
		if planned[pkg] {
			t.Errorf("docs/design.md lists %s twice", pkg)
		}
		planned[pkg] = true
		r := h[pkg]
		if r == nil {
			t.Errorf("docs/design.md lists %s, which does not exist", pkg)
			continue
		}
		may := words(row[2])
		for name, file := range r.imports {
			_, ours := h[name]
			switch {
			case ours && !slices.Contains(may, name):
				t.Errorf("%s imports %s, which docs/design.md does not let it", file, name)
			case !ours && strings.Contains(strings.SplitN(name, "/", 2)[0], ".") && !slices.ContainsFunc(homes[name], func(home string) bool { return within(pkg, home) }):
				t.Errorf("%s imports %s, whose home is another by docs/dependencies.md: %v", file, name, homes[name])
			}
		}
		for _, name := range may {
			if _, ok := r.imports[name]; !ok {
				t.Errorf("docs/design.md lets %s import %s, which it does not", pkg, name)
			}
		}
	}
	for pkg := range h {
		if !planned[pkg] {
			t.Errorf("docs/design.md does not list package %s", pkg)
		}
	}
	for lib, pkgs := range homes {
		for _, home := range pkgs {
			used := false
			for pkg, r := range h {
				used = used || within(pkg, home) && r.imports[lib] != ""
			}
			if !used {
				t.Errorf("docs/dependencies.md gives %s a home in %s, which does not import it", lib, home)
			}
		}
	}
}

// within reports whether a package is the one that home names, or, where it ends in "/...", one below.
func within(pkg, home string) bool {
	above, all := strings.CutSuffix(home, "/...")
	return pkg == above || all && strings.HasPrefix(pkg, above+"/")
}

// libraries reads which packages of ours import each package of others.
func libraries(t *testing.T) map[string][]string {
	homes := map[string][]string{}
	for _, row := range table(t, "dependencies.md", "# Dependencies") {
		if strings.HasPrefix(row[1], "tests of ") {
			continue
		}
		for _, lib := range words(row[0]) {
			homes[lib] = append(homes[lib], words(row[1])...)
		}
	}
	return homes
}

// Some imports would break what a package promises, through whatever other packages they come.
func TestNoPackageReachesWhatItForswears(t *testing.T) {
	h := readHouse(t)
	for _, row := range table(t, "design.md", "### What a package never imports") {
		for _, pkg := range words(row[0]) {
			if h[pkg] == nil {
				t.Errorf("docs/design.md forbids imports to %s, which does not exist", pkg)
				continue
			}
			for _, never := range words(row[1]) {
				if strings.HasSuffix(row[1], " itself") { // others may, on its behalf
					if file := h[pkg].imports[never]; file != "" {
						t.Errorf("%s imports %s, which %s itself must not: %s", file, never, pkg, row[2])
					}
					continue
				}
				if file, ok := h.reaches(pkg, never, map[string]bool{}); ok {
					t.Errorf("%s imports %s, which %s must not, through no other package either: %s", file, never, pkg, row[2])
				}
			}
		}
	}
}

// reaches reports whether pkg, or a package of ours that it needs, imports another, and which file does.
func (h house) reaches(pkg, other string, met map[string]bool) (file string, ok bool) {
	if file, ok = h[pkg].imports[other]; ok {
		return file, true
	}
	met[pkg] = true
	for name := range h[pkg].imports {
		if h[name] == nil || met[name] {
			continue
		}
		if file, ok = h.reaches(name, other, met); ok {
			return file, true
		}
	}
	return "", false
}
