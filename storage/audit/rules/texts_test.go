package rules

import (
	"fmt"
	"strings"
	"testing"

	"curtsy/robots/naive"
)

// A text that left memory is read again from the temporary file, and is judged by as before.
func TestTextsComeBack(t *testing.T) {
	x, err := NewStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var at []Text
	bodies := make([]string, 60)
	for i := range bodies {
		bodies[i] = "User-agent: *\n" + strings.Repeat(fmt.Sprintf("Disallow: /%d-and-a-long-path\n", i), 12000) + fmt.Sprintf("Disallow: /last%d\n", i)
		p, err := x.Put([]byte(bodies[i]))
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, p)
	}
	for range 2 {
		for i, p := range at {
			r, err := x.reading(p, "Lantern", "rfc9309")
			if err != nil {
				t.Fatal(err)
			}
			target := fmt.Sprintf("/last%d", i)
			want, wantLine := naive.Allowed([]byte(bodies[i]), "Lantern", target)
			if ok, line := r.rules.Allowed(target); ok != want || line != wantLine || want {
				t.Fatalf("text %d: %v by %d, want %v by %d", i, ok, line, want, wantLine)
			}
		}
		if x.size > maxReadings || x.used.Len() == len(at) || x.used.Len() != len(x.by) {
			t.Fatalf("%d readings of %d octets are in memory", x.used.Len(), x.size)
		}
	}
	if got := x.Line(at[3], 12002); got != "Disallow: /last3" {
		t.Errorf("line 12002 is %q", got)
	}
}
