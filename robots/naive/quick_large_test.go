package naive

import (
	"fmt"
	"strings"
	"testing"
)

// large are bodies of nearly 500 KiB that are hard to match, and a target for each.
func large() map[string][2]string {
	fill := func(line func(i int) string) string {
		var b strings.Builder
		b.WriteString("User-agent: *\n")
		for i := 0; b.Len() < 490<<10; i++ {
			b.WriteString("Disallow: " + line(i) + "\n")
		}
		return b.String()
	}
	long := "/" + strings.Repeat("ab/cd-ef_gh.ij", 500) + "?q=aaaa"
	orders := []string{"ab", "cd", "ef", "gh", "ij", "aa", "q"}
	return map[string][2]string{
		"numbered": {fill(func(i int) string { return fmt.Sprintf("/*word%d*x$", i) }), "/a/page/of/some/words/12345/x"},
		"short":    {fill(func(i int) string { return fmt.Sprintf("/*%d*", i%1000) }), "/a/page/of/some/words/x"},
		"permuted": {fill(func(i int) string {
			p := "/"
			for range 5 {
				p, i = p+"*"+orders[i%7], i/7+i
			}
			return p + "*zz"
		}), long},
		"runs":   {fill(func(i int) string { return "/*" + strings.Repeat("a", 200+i%300) + "b" }), "/" + strings.Repeat("a", 8000)},
		"pieces": {fill(func(i int) string { return "/" + strings.Repeat("*a", 1000) + fmt.Sprint(i) }), "/" + strings.Repeat("a", 8000)},
		"one":    {"User-agent: *\nDisallow: /" + strings.Repeat("*a", 245<<10), "/" + strings.Repeat("a", 8000)},
		"plain":  {fill(func(i int) string { return fmt.Sprintf("/same/beginning/%d", i) }), "/same/beginning/of/a/page"},
	}
}

func TestReading_LargeBody(t *testing.T) {
	for name, c := range large() {
		r := Read("rfc9309", []byte(c[0]), "a")
		if allowed, line := r.Allowed(c[1]); !allowed && name != "pieces" && name != "one" {
			t.Errorf("%s: disallowed by line %d", name, line)
		}
		if n := testing.AllocsPerRun(3, func() { r.Allowed(c[1]) }); n > 20 {
			t.Errorf("%s: %v allocations for a question", name, n)
		}
	}
}
