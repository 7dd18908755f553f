package docs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// docs/design.md says what each package costs a reader. The figures are allowed to lag: by a fifth, or 200 lines, of
// the lines of a package. With -update they are written anew.
func TestThePageSaysWhatEachPackageCosts(t *testing.T) {
	h := readHouse(t)
	said := map[string]int{}
	for _, row := range table(t, "design.md", "## What each package costs") {
		n, err := strconv.Atoi(strings.ReplaceAll(row[4], ",", ""))
		if err != nil {
			t.Fatalf("docs/design.md: %q is no number of lines", row[4])
		}
		if ws := words(row[0]); len(ws) == 1 {
			said[ws[0]] = n
		}
	}
	stale := *update
	for pkg, r := range h {
		if n, ok := said[pkg]; !ok || max(n-r.lines, r.lines-n) > max(r.lines/5, 200) {
			stale = true
			t.Logf("%s has %d lines, and docs/design.md says %d", pkg, r.lines, n)
		}
		delete(said, pkg)
	}
	if stale || len(said) > 0 {
		holds(t, "design.md", costsHead, h.costs())
	}
}

const costsHead = "| package | files | names | largest type, its methods | lines |"

// costs is the table of the packages, the largest first.
func (h house) costs() string {
	var b strings.Builder
	b.WriteString(costsHead + "\n|---|---|---|---|---|\n")
	pkgs := slices.Collect(maps.Keys(h))
	slices.SortFunc(pkgs, func(a, b string) int { return cmp.Or(h[b].lines-h[a].lines, strings.Compare(a, b)) })
	var files, names, lines int
	for _, pkg := range pkgs {
		r := h[pkg]
		fmt.Fprintf(&b, "| `%s` | %d | %d | %s | %d |\n", pkg, r.files, r.names, r.largest(), r.lines)
		files, names, lines = files+r.files, names+r.names, lines+r.lines
	}
	fmt.Fprintf(&b, "| all %d | %d | %d | | %d |\n", len(pkgs), files, names, lines)
	return b.String()
}

// largest is the type with the most methods, and how many.
func (r *room) largest() string {
	typ, most := "", 0
	for name, n := range r.methods {
		if n > most || n == most && name < typ {
			typ, most = name, n
		}
	}
	if most == 0 {
		return "–"
	}
	return fmt.Sprintf("`%s` %d", typ, most)
}
