package scope

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

const usualURL = "https://www.h.test/section/2024/05/article-name.html?id=12345"

// busy is a configuration in which every kind of rule is active.
var busy = Config{
	Include: []string{`/section/`}, Exclude: []string{`[?&]sort=`, `/print/`}, Reject: []string{".exe", ".zip"},
	Accept: []string{".pdf"}, Depth: ptr(9), Traps: map[string]int{"depth": 9}, Requisites: RequisitesAll,
}

// The one allocation of ModeDomain is that of the public suffix list. Patterns are left out, as package regexp has a pool, which the
// race detector empties.
func TestJudge_AllocatesNothing(t *testing.T) {
	link := Candidate{URL: parse(t, usualURL), Depth: 1}
	for _, m := range modes {
		c := busy
		c.Mode, c.Include, c.Exclude = m, nil, nil
		s := newScope(t, c, "http://h.test/section/")
		want := 0.0
		if m == ModeDomain {
			want = 1
		}
		n := testing.AllocsPerRun(100, func() { s.Judge(link) })
		assert.Truef(t, n <= want, "%s: %v allocations; want at most %v", m, n, want)
	}
}

func BenchmarkJudge(b *testing.B) {
	link := Candidate{URL: parse(b, usualURL), Depth: 1}
	for _, m := range modes {
		b.Run(string(m), func(b *testing.B) {
			s := newScope(b, Config{Mode: m}, "http://h.test/section/")
			b.ReportAllocs()
			for b.Loop() {
				s.Judge(link)
			}
		})
	}
	b.Run("busy", func(b *testing.B) {
		s := newScope(b, busy, "http://h.test/section/")
		b.ReportAllocs()
		for b.Loop() {
			s.Judge(link)
		}
	})
}
