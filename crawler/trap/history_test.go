package trap

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

func parse(t testing.TB, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	require.NoError(t, err)
	return u
}

// naive remembers everything, and implements rule 22 literally.
type naive struct {
	urls   map[group]int
	pages  map[group][]bool // which of them had a new shape
	shapes map[uint64]bool
}

func (n *naive) groups(u canon.URL) []group {
	q, t := groupsOf(u)
	if q == 0 {
		return []group{t}
	}
	return []group{q, t}
}

func (n *naive) held(u canon.URL, limits map[group]int) bool {
	for _, g := range n.groups(u) {
		limit := limits[g]
		look := min(limit, span)
		if n.urls[g] < limit || len(n.pages[g]) < look {
			continue
		}
		fresh := 0
		for _, f := range n.pages[g][len(n.pages[g])-look:] {
			if f {
				fresh++
			}
		}
		if 20*fresh < look {
			return true
		}
	}
	return false
}

// A History holds no URL that a naive one would not, and never exceeds its bound.
func TestRule22_ABoundedHistoryComesLateAndNeverEarly(t *testing.T) {
	holds := 0
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 5))
		limits := Limits{Queries: 20 + rng.IntN(400), Template: 20 + rng.IntN(1500)}
		paths, shapes, busy := 1+rng.IntN(200), 1+rng.IntN(2*maxShapes), 1+rng.IntN(20)
		var h History
		exact := naive{map[group]int{}, map[group][]bool{}, map[uint64]bool{}}
		of := map[group]int{}
		for i := range 6000 {
			path := rng.IntN(paths)
			if rng.IntN(3) > 0 {
				path %= busy
			}
			u := parse(t, fmt.Sprintf("http://h.test/p%c%c/%d", 'a'+path%26, 'a'+path/26, i))
			if path%2 == 0 {
				u = parse(t, fmt.Sprintf("http://h.test/p%c%c?x=%x", 'a'+path%26, 'a'+path/26, i*7919))
			}
			q, tmpl := groupsOf(u)
			of[q], of[tmpl] = limits.Queries, limits.Template
			held := h.Held(u, limits)
			if held != "" {
				holds++
				require.Truef(t, exact.held(u, of), "seed %d: %s is held by %s, early", seed, u, held)
			}
			h.Turn(u)
			for _, g := range exact.groups(u) {
				exact.urls[g]++
			}
			if held != "" {
				continue
			}
			shape := uint64(rng.IntN(shapes)) // less than 2¹⁶, so that all are distinct
			if path%5 == 0 {
				shape = uint64(i) // always new
			}
			h.Brought(u, shape, limits)
			for _, g := range exact.groups(u) {
				exact.pages[g] = append(exact.pages[g], !exact.shapes[shape])
			}
			exact.shapes[shape] = true
			h.Leads(u, rng.Uint64(), rng.IntN(300))
			if i%97 == 0 {
				h = written(t, h)
			}
		}
	}
	assert.NotEqual(t, 0, holds, "nothing was ever held")
}

// written is a History after it was encoded and decoded.
func written(t testing.TB, h History) History {
	t.Helper()
	b := h.Append(nil)
	require.LessOrEqualf(t, len(b), MaxSize, "%d octets; at most %d are promised", len(b), MaxSize)
	got, err := Read(b)
	require.NoError(t, err)
	require.Equalf(t, h, got, "read %+v, %v; wrote %+v", got, err, h)
	return got
}

func TestAFullHistoryKeepsItsBound(t *testing.T) {
	var h History
	for i := range maxPaths {
		h.paths = append(h.paths, entry{group(^uint32(i)), MaxLimit})
	}
	for i := range maxTemplates {
		h.templates = append(h.templates, entry{group(^uint32(i)), MaxLimit})
	}
	for i := range maxWindows {
		w := window{group: group(i)}
		for range 2 * span {
			w.add(i%2 == 0)
		}
		h.windows = append(h.windows, w)
	}
	for i := range maxShapes {
		h.shapes = append(h.shapes, uint16(i))
	}
	for range maxParents {
		h.parents = append(h.parents, parent{1 << 31, maxCopy})
	}
	written(t, h)
	t.Logf("%d octets", len(h.Append(nil)))
}

// A trap of few shapes is held as soon as possible if its share of the host is large enough.
func TestRule22_ATrapIsHeldOnceItIsOverTheLimit(t *testing.T) {
	for _, tt := range []struct {
		name        string
		shapes      int // of the trap
		others      int // other pages, each with a separate path and template, for one of the trap
		least, most int // URLs of the trap that are fetched
	}{
		{"one shape, nothing else", 1, 0, 1000, 1000},
		{"a calendar's dozen", 12, 0, 1000, 1000},
		{"as many as fit beside the pages before", 199, 0, 1000, 1000},
		{"all that are remembered", 448, 0, 1000, 1240},
		{"one page in four", 12, 3, 1000, 1060},
		{"one page in twenty", 12, 19, 1300, 1500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var h History
			l := Limits{}
			for i := range 3000 {
				u := parse(t, fmt.Sprintf("http://h.test/cal?day=%x", i))
				if rule := h.Held(u, l); rule != "" {
					assert.Truef(t, rule == RuleQueries && i >= tt.least && i <= tt.most, "held by %s after %d; want %d to %d", rule, i, tt.least, tt.most)
					return
				}
				h.Turn(u)
				h.Brought(u, uint64(i%tt.shapes), l)
				for j := range tt.others {
					other := parse(t, "http://h.test/wiki/"+letters(i*tt.others+j)+"?q")
					h.Turn(other)
					h.Brought(other, uint64(1000+i), l)
				}
			}
			t.Error("never held")
		})
	}
}

// letters is n without digits.
func letters(n int) string {
	s := ""
	for ; n > 0; n /= 26 {
		s += string(rune('a' + n%26))
	}
	return s + "x"
}

func TestRule22_ManyShapesAreNotATrap(t *testing.T) {
	var h History
	for i := range 20_000 {
		u := parse(t, fmt.Sprintf("http://h.test/topic?t=%d", i))
		rule := h.Held(u, Limits{})
		require.Truef(t, rule == "", "held by %s after %d", rule, i)
		h.Turn(u)
		h.Brought(u, uint64(i%(maxShapes+1)), Limits{})
	}
}

func TestRule22_LimitBoundsFetchedURLs(t *testing.T) {
	for _, tt := range []struct {
		limits Limits
		path   string
		want   int
		rule   string
	}{
		{Limits{}, "/cal?m=%d", 1000, RuleQueries},
		{Limits{Queries: 50}, "/cal?m=%d", 51, RuleQueries}, // the first page is new, and a group of one is not watched
		{Limits{Queries: -1}, "/cal?m=%d", 10_000, RuleTemplate},
		{Limits{}, "/cal/%d", 10_000, RuleTemplate},
		{Limits{Template: 300}, "/cal/%d", 300, RuleTemplate},
		{Limits{Queries: -1, Template: -1}, "/cal?m=%d", 12_000, ""},
	} {
		var h History
		fetched, rule := 0, ""
		for ; fetched < 12_000 && rule == ""; fetched++ {
			u := parse(t, fmt.Sprintf("http://h.test"+tt.path, fetched))
			if rule = h.Held(u, tt.limits); rule != "" {
				break
			}
			h.Turn(u)
			h.Brought(u, 7, tt.limits)
		}
		assert.Truef(t, fetched == tt.want && rule == tt.rule, "%+v %s: %d fetched, then %q; want %d, %q", tt.limits, tt.path, fetched, rule, tt.want, tt.rule)
	}
}

func TestHistory_NewShapesEndTheHold(t *testing.T) {
	var h History
	l := Limits{Queries: 100}
	u := func(i int) canon.URL { return parse(t, fmt.Sprintf("http://h.test/cal?m=%d", i)) }
	for i := range 150 {
		h.Turn(u(i))
		h.Brought(u(i), 7, l)
	}
	require.Equal(t, RuleQueries, h.Held(u(150), l), "not held")
	for i := range 5 {
		h.Brought(u(i), uint64(100+i), l)
	}
	rule := h.Held(u(150), l)
	assert.Truef(t, rule == "", "held by %s", rule)
}

func TestRule22_CopiesAreCountedAlongTheChain(t *testing.T) {
	var h History
	page := func(i int) canon.URL { return parse(t, fmt.Sprintf("http://h.test/%d", i)) }
	h.Leads(page(0), 11, h.Copies("", 11))
	for i := 1; i < 300; i++ {
		copies := h.Copies(page(i-1).String(), 11)
		require.Equalf(t, min(i, maxCopy+1), copies, "copies up to page %d", i)
		h.Leads(page(i), 11, copies)
		h = written(t, h)
	}
	for _, tt := range []struct {
		via  string
		text uint64
	}{{page(299).String(), 12}, {page(300).String(), 11}, {page(299).String(), 0}, {"", 11}, {page(5).String(), 11}} {
		assert.Equalf(t, 0, h.Copies(tt.via, tt.text), "%q, %d: copies", tt.via, tt.text)
	}
	for _, tt := range []struct {
		limits Limits
		copies int
		want   bool
	}{{Limits{}, 0, false}, {Limits{}, 1, true}, {Limits{Copy: 2}, 1, false}, {Limits{Copy: 2}, 2, true}, {Limits{Copy: -1}, 9, false}} {
		assert.Equalf(t, tt.want, tt.limits.Drops(tt.copies), "%+v, %d copies", tt.limits, tt.copies)
	}
}

// Any bytes are refused, or mean a History that is written and read again as it is.
func FuzzRead(f *testing.F) {
	var h History
	for i := range 700 {
		u := parse(f, fmt.Sprintf("http://h.test/%c?m=%d", 'a'+i%3, i))
		h.Turn(u)
		h.Brought(u, uint64(i), Limits{Queries: 100})
		h.Leads(u, uint64(i), i)
	}
	f.Add(h.Append(nil))
	f.Add([]byte{version, 0, 0, 0, 0, 0})
	f.Add([]byte{version, 1, 0, 0, 0, 1, 5, 0, 1, 0, 0, 0, 1, 201})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Read(b)
		if err != nil {
			return
		}
		written(t, h)
		u := parse(t, "http://h.test/x?1")
		h.Turn(u)
		h.Brought(u, 1, Limits{Queries: 1, Template: 1})
		h.Leads(u, 1, h.Copies("y", 1))
		written(t, h)
	})
}

func TestADamagedHistoryIsRefused(t *testing.T) {
	var h History
	h.Turn(parse(t, "http://h.test/x?1"))
	h.Leads(parse(t, "http://h.test/x?1"), 1, 0)
	b := h.Append(nil)
	for cut := 1; cut < len(b); cut++ {
		_, err := Read(b[:cut])
		assert.Errorf(t, err, "cut at %d of %d octets, and read", cut, len(b))
	}
	for _, bad := range [][]byte{append(b, 0), append([]byte{version + 1}, b[1:]...)} {
		_, err := Read(bad)
		assert.Errorf(t, err, "%x was read", bad)
	}
	var none History
	if b := none.Append(nil); b != nil {
		t.Errorf("an unknown host has %d bytes", len(b))
	}
	if h, err := Read(nil); err != nil || !reflect.DeepEqual(h, none) {
		t.Errorf("%+v, %v", h, err)
	}
}
