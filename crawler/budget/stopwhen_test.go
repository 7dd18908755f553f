package budget

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConditionsAreReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"pages=1000": "pages=1000", "pages=007": "pages=7", "tag:news pages=5": "tag:news pages=5",
		"tag:two words pages=5": "tag:two words pages=5", "errors>20%": "errors>20%", "errors>0%": "errors>0%",
		"duplicates>2.50%": "duplicates>2.5%", "duplicates>99.999%": "duplicates>99.999%", "new-hosts<1": "new-hosts<1",
		"new-hosts<1000": "new-hosts<1000", "tag:a=b>c pages=1": "tag:a=b>c pages=1",
	} {
		c, err := Parse(text)
		require.NoError(t, err)
		assert.Equalf(t, want, c.String(), "%q: %q", text, c)
	}
	for _, text := range []string{
		"", "pages", "pages=", "pages=0", "pages=-1", "pages=1k", "pages>5", "pages = 5", " pages=5", "pages=5 ", "errors=20%", "errors<20%",
		"errors>20", "errors>100%", "errors>101%", "errors>1.2345%", "errors>%", "errors>.5%", "errors>5.%", "duplicates>-1%", "new-hosts>5",
		"new-hosts<0", "new-hosts<1001", "new-hosts<5%", "hosts=5", "tag: pages=5", "tag:news", "tag:news errors>5%", "tag:pages=5",
		"pages=99999999999999999999", "Pages=5", "pages=5,errors>5%",
	} {
		if c, err := Parse(text); err == nil {
			t.Errorf("%q is %q, want an error", text, c)
		}
	}
}

// FuzzParse: the text of a parsed condition parses as the same condition.
func FuzzParse(f *testing.F) {
	f.Add("tag:news pages=100")
	f.Add("errors>2.5%")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(c.String())
		require.NoError(t, err)
		assert.Equalf(t, c, again, "%q: %+v, again %+v, %v", text, c, again, err)
	})
}

func watch(t *testing.T, text string) *Watch {
	t.Helper()
	c, err := Parse(text)
	require.NoError(t, err)
	return NewWatch([]Condition{c}, 0, func(string) int64 { return 0 })
}

// answersUntil returns the number of answers after which a condition is met; 0 for never.
func answersUntil(w *Watch, n int, answer func(i int) Answer) int {
	for i := range n {
		if w.Note(answer(i)); w.Met() != "" {
			return i + 1
		}
	}
	return 0
}

func TestWhenAConditionIsMet(t *testing.T) {
	page := func(int) Answer { return Answer{Page: true} }
	for _, c := range []struct {
		name, when string
		answer     func(i int) Answer
		want       int
	}{
		{"pages", "pages=5", page, 5},
		{"other files are not pages", "pages=5", func(i int) Answer { return Answer{Page: i%2 == 0} }, 9},
		{"no errors", "errors>0%", page, 0},
		{"all fail: 100 are enough", "errors>50%", func(int) Answer { return Answer{Failed: true} }, 100},
		{"half fail is not over half", "errors>50%", func(i int) Answer { return Answer{Failed: i%2 == 1} }, 0},
		{"errors long ago", "errors>50%", func(i int) Answer { return Answer{Failed: i >= 2000} }, 2501},
		{"each page is new", "duplicates>0%", func(i int) Answer { return Answer{Page: true, Text: uint64(i)<<1 | 1} }, 0},
		{"a page again and again", "duplicates>50%", func(int) Answer { return Answer{Page: true, Text: 9} }, 1000},
		{"pages with too few words are not duplicates", "duplicates>50%", page, 0},
		{"other files are not duplicates", "duplicates>50%", func(int) Answer { return Answer{Text: 9} }, 0},
		{"always new hosts", "new-hosts<10", func(int) Answer { return Answer{Page: true, First: true} }, 0},
		{"ten new hosts, long ago", "new-hosts<10", func(i int) Answer { return Answer{Page: true, First: i < 10} }, 1001},
		{"nine", "new-hosts<10", func(i int) Answer { return Answer{Page: true, First: i < 9} }, 1000},
	} {
		assert.Equalf(t, c.want, answersUntil(watch(t, c.when), 5000, c.answer), "%s: answers until %s", c.name, c.when)
	}
}

func TestRunsBeforeCount(t *testing.T) {
	a, _ := Parse("tag:a pages=5")
	b, _ := Parse("pages=10")
	assert.Equal(t, "pages=10", NewWatch([]Condition{a, b}, 10, func(string) int64 { return 4 }).Met())
	assert.Equal(t, "tag:a pages=5", NewWatch([]Condition{a}, 0, func(tag string) int64 { return int64(len(tag)) * 5 }).Met())
	w := NewWatch(nil, 100, nil)
	if w.Note(Answer{Failed: true}); w.Met() != "" {
		t.Error("a condition out of nothing")
	}
	if w.Set([]Condition{b}); w.Met() != "pages=10" {
		t.Error("a later condition does not know the pages before")
	}
}

func TestARingIsTheLastThousand(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var r ring
	var all []bool
	for range 5000 {
		is := rng.IntN(3) == 0
		r.add(is)
		all = append(all, is)
		n := int64(0)
		for _, was := range all[max(0, len(all)-window):] {
			if was {
				n++
			}
		}
		if r.set != n || r.len() != int64(min(len(all), window)) {
			t.Fatalf("%d of %d, want %d", r.set, r.len(), n)
		}
	}
}
