package robots

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/robots/naive"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The real files: what binds a crawler, and the verdicts on targets made from the files' own rules. testdata says where
// the files come from.
func TestRealFiles(t *testing.T) {
	files, err := filepath.Glob("../testdata/robots/real/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d real files, %v; want 20", len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			body, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("../testdata/robots/golden", strings.TrimSuffix(filepath.Base(name), ".txt")+".golden")
			got := describe(t, body)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
				t.Errorf("%s differs; the difference begins with\n%s", golden, difference(got, string(want)))
			}
		})
	}
}

// describe writes what a file says to a crawler of our name, and to each of some others that it names.
func describe(t *testing.T, body []byte) string {
	var b strings.Builder
	for _, token := range []string{"curtsy", "Googlebot", "Googlebot-Image", "Mediapartners-Google", "Slurp", "duggmirror", "psbot"} {
		p := Parse(body, Options{Token: token})
		if !p.named && token != "curtsy" {
			continue
		}
		fmt.Fprintf(&b, "# %s\n%s#\n", token, p)
		for _, target := range targetsOf(body) {
			v := p.Match(target)
			if allowed, line := naive.Allowed(body, token, target); allowed != v.Allowed || line != v.Line {
				t.Errorf("%s %s: allowed %v by line %d; naive: %v by %d", token, target, v.Allowed, v.Line, allowed, line)
			}
			answer := "deny "
			if v.Allowed {
				answer = "allow"
			}
			fmt.Fprintf(&b, "%s %s: %s", answer, target, v.Reason)
			if v.Line > 0 {
				fmt.Fprintf(&b, ", line %d (%s)", v.Line, v.Rule)
			}
			if v.RunnerUp != "" {
				fmt.Fprintf(&b, ", before (%s)", v.RunnerUp)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// targetsOf makes two targets from each rule of a file: one that the rule should just match, and one behind it.
func targetsOf(body []byte) []string {
	all := []string{"/", "/robots.txt", "/index.html?q=1"}
	for _, line := range linesOf(string(body)) {
		r, ok := read(line, span{0, uint32(len(line))})
		if path := r.value.in(line); ok && (r.field == allow || r.field == disallow) && path != "" {
			t := strings.ReplaceAll(strings.TrimSuffix(path, "$"), "*", "x")
			t = "/" + strings.TrimPrefix(t, "/")
			all = append(all, t, t+"y/z")
		}
	}
	return each(all)
}

// difference returns the first line that differs.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: %s\n   want: %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
