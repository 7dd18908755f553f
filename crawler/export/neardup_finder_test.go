package export

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/tables"
)

func sketchOf(t testing.TB, p neardupText) Sketch {
	t.Helper()
	set, words, digest := p.read(t)
	return sketch(set, words, digest)
}

// words returns n words, starting at a number.
func words(from, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("w%d", from+i))
	}
	return all
}

func find(t testing.TB, memory int, pages ...neardupText) (all []member) {
	t.Helper()
	f := newFinder(t.TempDir(), memory)
	for i, p := range pages {
		s := sketchOf(t, p)
		require.NoError(t, f.Add(neardupPage{URL: p.url, Key: "key of " + p.url, Fetched: time.Unix(int64(i), 0).UTC()}, &s, 0))
	}
	keys := tables.Duplicates.Places()
	var last tables.Row
	for m, err := range f.All(t.Context()) {
		require.NoError(t, err)
		row := m.Row()
		assert.NoError(t, tables.Duplicates.Check(row))
		assert.Truef(t, last == nil || tables.Keyed(keys, last, row) <= 0, "%v comes before %v", last, row)
		last = row
		all = append(all, m)
	}
	assert.NoError(t, f.Close())
	return all
}

func memberLines(all []member) (s []string) {
	for _, m := range all {
		s = append(s, fmt.Sprintf("%s %s of %d like %s %.2f", m.URL, m.Kind, m.Size, m.Representative, m.Similarity))
	}
	return s
}

func TestFinder_Duplicates(t *testing.T) {
	long := words(0, 200)
	for _, c := range []struct {
		name  string
		pages []neardupText
		want  []string
	}{
		{"no pages", nil, nil},
		{"nothing in common", []neardupText{{"http://a.test/", words(0, 50)}, {"http://b.test/", words(50, 50)}}, nil},
		{"a copy", []neardupText{{"http://a.test/long", long}, {"http://b.test/", long}, {"http://c.test/", words(900, 50)}}, []string{
			"http://a.test/long exact of 2 like http://b.test/ 1.00",
			"http://b.test/ representative of 2 like http://b.test/ 1.00",
		}},
		{"a copy that has its own URL in it", []neardupText{
			{"http://a.test/long", append([]string{"http://a.test/long"}, long...)},
			{"http://b.test/", append([]string{"http://b.test/"}, long...)},
		}, []string{
			"http://a.test/long exact of 2 like http://b.test/ 1.00",
			"http://b.test/ representative of 2 like http://b.test/ 1.00",
		}},
		{"nearly: 180 of 220 words", []neardupText{{"http://a.test/", words(0, 200)}, {"http://b.test/", words(20, 200)}}, []string{
			"http://a.test/ representative of 2 like http://a.test/ 1.00",
			"http://b.test/ near of 2 like http://a.test/ 0.82",
		}},
		{"not nearly enough: 170 of 230 words", []neardupText{{"http://a.test/", words(0, 200)}, {"http://b.test/", words(30, 200)}}, nil},
		{"the same words in another order", []neardupText{
			{"http://a.test/", long}, {"http://b.test/", strings.Fields(strings.Repeat("w1 w2 w3 w4 w5 ", 40))},
		}, nil},
		{"a chain, whose ends are not alike", []neardupText{
			{"http://a.test/", words(0, 200)}, {"http://b.test/", words(20, 200)}, {"http://c.test/", words(40, 200)},
		}, []string{
			"http://a.test/ representative of 3 like http://a.test/ 1.00",
			"http://b.test/ near of 3 like http://a.test/ 0.82",
			"http://c.test/ near of 3 like http://a.test/ 0.66",
		}},
		{"seven words are too few", []neardupText{{"http://a.test/", words(0, 7)}, {"http://b.test/", words(0, 7)}}, nil},
		{"one URL twice is not a duplicate of itself", []neardupText{{"http://a.test/", long}, {"http://a.test/", long}}, nil},
		{"a URL counts as it was last", []neardupText{
			{"http://a.test/", long}, {"http://b.test/", long}, {"http://a.test/", words(500, 100)},
		}, nil},
	} {
		assert.Equal(t, c.want, memberLines(find(t, 0, c.pages...)), c.name)
	}
}

// The original page may have changed since.
func TestACopyStandsForItsPayload(t *testing.T) {
	for _, c := range []struct {
		name    string
		replace bool // the original has other content now
		want    []string
	}{
		{"with the page", false, []string{
			"http://a.test/long representative of 3 like http://a.test/long 1.00", "http://copy.test/page exact of 3 like http://a.test/long 1.00",
			"http://near.test/page near of 3 like http://a.test/long 0.82",
		}},
		{"without it", true, []string{
			"http://copy.test/page representative of 2 like http://copy.test/page 1.00", "http://near.test/page near of 2 like http://copy.test/page 0.82",
		}},
	} {
		f := newFinder(t.TempDir(), 0)
		add := func(at int64, url string, payload uint64, all []string) {
			p := neardupPage{URL: url, Key: url, Fetched: time.Unix(at, 0)}
			var err error
			if all == nil {
				err = f.AddCopy(p, payload)
			} else {
				s := sketchOf(t, neardupText{url, all})
				err = f.Add(p, &s, payload)
			}
			require.NoError(t, err)
		}
		add(1, "http://copy.test/page", 7, nil)
		add(1, "http://none.test/", 9, nil) // without an original
		add(1, "http://a.test/long", 7, words(0, 200))
		add(1, "http://near.test/page", 8, words(20, 200))
		if c.replace {
			add(2, "http://a.test/long", 10, words(900, 100))
		}
		var all []member
		for m, err := range f.All(t.Context()) {
			require.NoError(t, err)
			all = append(all, m)
		}
		assert.Equal(t, strings.Join(c.want, "\n"), strings.Join(memberLines(all), "\n"), c.name)
		assert.EqualValues(t, 1, f.Orphans(), c.name)
		assert.NoError(t, f.Close())
	}
}

func TestClustersDependOnThePagesAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes for long under the race detector")
	}
	r := rand.New(rand.NewPCG(3, 4))
	pages := changed(r, madeUp(r, 100), 200)
	want := memberLines(find(t, 0, pages...))
	require.GreaterOrEqual(t, len(want), 100, "pages have duplicates")
	for _, memory := range []int{5000, 1 << 20} {
		r.Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
		got := memberLines(find(t, memory, pages...))
		require.Equalf(t, want, got, "with %d bytes", memory)
	}
}

// The template of a site puts its pages into one band.
func TestFinder_HugeBandIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes for long under the race detector")
	}
	menu := words(0, 300)
	var pages []neardupText
	for i := range 500 {
		own := words(1000*(i+1), 60+60*(i%2)) // with less in common in every second one
		pages = append(pages, neardupText{fmt.Sprintf("http://h.test/%d", i), append(own, menu...)})
	}
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 100 {
		p := pages[r.IntN(400)]
		pages = append(pages, neardupText{fmt.Sprintf("http://copy.test/%d", i), append([]string{"copy"}, p.words...)})
	}
	found := 0
	for _, m := range find(t, 0, pages...) {
		if strings.HasPrefix(m.URL, "http://copy") {
			found++
		}
	}
	assert.GreaterOrEqual(t, found, 98, "copies of 100 were found")
}

func TestFinder_ReportsFailureAndCancellation(t *testing.T) {
	f := newFinder(t.TempDir()+"/none", 1)
	s := sketchOf(t, neardupText{"http://a.test/", words(0, 100)})
	var err error
	for i := range 5 {
		err = errors.Join(err, f.Add(neardupPage{URL: fmt.Sprint(i)}, &s, 0))
	}
	assert.Error(t, err)
	f = newFinder(t.TempDir(), 0)
	defer f.Close()
	for i := range 5 {
		require.NoError(t, f.Add(neardupPage{URL: fmt.Sprint(i)}, &s, 0))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := 0
	for _, err := range f.All(ctx) {
		if n++; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	assert.Equal(t, 1, n, "results")
}

// A million pages with CURTSY_LONG=1, otherwise 20,000.
func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	n, memory := 20_000, 2<<20
	if os.Getenv("CURTSY_LONG") != "" {
		n, memory = 1_000_000, 16<<20
	}
	r := rand.New(rand.NewPCG(7, 8))
	f := newFinder(t.TempDir(), memory)
	defer f.Close()
	began := time.Now()
	set := make([]uint64, 40)
	for i := range n {
		if r.IntN(3) > 0 { // each third page is nearly the one before
			for j := range set {
				set[j] = mix(uint64(r.Uint32())<<32 | uint64(j))
			}
		}
		set[r.IntN(len(set))] = r.Uint64()
		shingles := slices.Clone(set)
		slices.Sort(shingles)
		s := sketch(slices.Compact(shingles), 50, r.Uint64())
		require.NoError(t, f.Add(neardupPage{URL: fmt.Sprintf("http://h%d.test/%d/page", i%1000, i), Fetched: began}, &s, 0))
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	members := 0
	for _, err := range f.All(t.Context()) {
		require.NoError(t, err)
		if members++; members == 1 {
			runtime.GC()
			runtime.ReadMemStats(&after)
		}
	}
	t.Logf("%d pages, %d with duplicates: live heap %d KiB filled, %d KiB read, from the system %d KiB; %.1f s", n,
		members, before.HeapAlloc>>10, after.HeapAlloc>>10, after.Sys>>10, time.Since(began).Seconds())
	live := max(before.HeapAlloc, after.HeapAlloc)
	assert.Truef(t, live <= uint64(2*memory+32*n), "%d bytes for %d pages", live, n)
	assert.GreaterOrEqual(t, members, n/3, "pages have duplicates")
}
