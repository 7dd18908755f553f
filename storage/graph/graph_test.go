package graph_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/storage/graph"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

type link struct{ from, to string }

func built(t testing.TB, o graph.Options, links ...link) *graph.Graph {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	b := graph.New(o)
	for _, l := range links {
		var err error
		if l.to == "" {
			err = b.Vertex(l.from)
		} else {
			err = b.Link(l.from, l.to)
		}
		require.NoError(t, err)
	}
	g, err := b.Graph(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { g.Close() })
	return g
}

func vertices(t testing.TB, g *graph.Graph) (vs []graph.Vertex) {
	t.Helper()
	for v, err := range g.Vertices() {
		require.NoError(t, err)
		vs = append(vs, v)
	}
	require.Truef(t, len(vs) == g.Order(), "%d vertices, of %d", len(vs), g.Order())
	return vs
}

func edges(t testing.TB, g *graph.Graph) (list []string) {
	t.Helper()
	vs := vertices(t, g)
	in, out := make([]uint32, g.Order()), make([]uint32, g.Order())
	for e, err := range g.Edges() {
		require.NoError(t, err)
		list = append(list, fmt.Sprintf("%s %s %d", vs[e.From].Name, vs[e.To].Name, e.Weight))
		in[e.To]++
		out[e.From]++
	}
	if int64(len(list)) != g.Size() || !slices.Equal(in, g.In()) || !slices.Equal(out, g.Out()) {
		t.Fatalf("%d edges of %d; degrees %v %v, not %v %v", len(list), g.Size(), g.In(), g.Out(), in, out)
	}
	return list
}

func TestVerticesAreNumberedByReversedHost(t *testing.T) {
	g := built(t, graph.Options{},
		link{"https://www.example.org/a", "http://example.org:8080/"}, link{"https://b.example.com/", "http://[2001:db8::1]/x"},
		link{"http://192.0.2.7/", "https://a.example.com/"}, link{"https://example-a.org/", "https://BÜCHER.example.com/"})
	var got []string
	for i, v := range vertices(t, g) {
		assert.Equalf(t, uint32(i), v.ID, "the number of vertex %d", i)
		got = append(got, v.Reversed+" "+v.Name)
	}
	want := []string{
		"192.0.2.7 192.0.2.7", "[2001:db8::1] [2001:db8::1]", "com.example.a a.example.com", "com.example.b b.example.com",
		"com.example.xn--bcher-kva xn--bcher-kva.example.com", "org.example example.org", "org.example-a example-a.org", "org.example.www www.example.org",
	}
	assert.Truef(t, slices.Equal(got, want), "vertices\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

func TestALinkIsAnEdgeOfItsLevel(t *testing.T) {
	links := []link{
		{"https://www.example.co.uk/a#x", "https://shop.example.co.uk/"},
		{"https://www.example.co.uk/a", "https://shop.example.co.uk/#y"},
		{"https://www.example.co.uk/b", "https://shop.example.co.uk/"},
		{"https://www.example.co.uk/b", "https://www.example.co.uk/a"},
		{"https://www.example.co.uk/b", "https://www.example.co.uk/b?"},
		{"https://www.example.co.uk/b", "http://www.example.co.uk:81/b"},
		{"https://www.example.co.uk/b", "https://u.github.io/"},
		{"https://www.example.co.uk/b", "mailto:me@example.co.uk"},
		{"https://quiet.example.net/", ""},
	}
	for _, c := range []struct {
		level  graph.Level
		edges  []string
		names  []string
		counts graph.Counts
	}{
		{
			graph.Hosts, []string{"www.example.co.uk u.github.io 1", "www.example.co.uk shop.example.co.uk 3"},
			[]string{"u.github.io 0", "quiet.example.net 0", "shop.example.co.uk 0", "www.example.co.uk 0"},
			graph.Counts{Links: 8, Within: 3, NoURL: 1},
		},
		{
			graph.Domains, []string{"example.co.uk u.github.io 1"}, []string{"u.github.io 1", "example.net 1", "example.co.uk 2"},
			graph.Counts{Links: 8, Within: 6, NoURL: 1},
		},
		{
			graph.Pages, []string{
				"https://www.example.co.uk/a https://shop.example.co.uk/ 2",
				"https://www.example.co.uk/b https://u.github.io/ 1",
				"https://www.example.co.uk/b https://shop.example.co.uk/ 1",
				"https://www.example.co.uk/b http://www.example.co.uk:81/b 1",
				"https://www.example.co.uk/b https://www.example.co.uk/a 1",
				"https://www.example.co.uk/b https://www.example.co.uk/b? 1",
			},
			[]string{
				"https://u.github.io/ 0", "https://quiet.example.net/ 0", "https://shop.example.co.uk/ 0", "http://www.example.co.uk:81/b 0",
				"https://www.example.co.uk/a 0", "https://www.example.co.uk/b 0", "https://www.example.co.uk/b? 0",
			},
			graph.Counts{Links: 8, NoURL: 1},
		},
	} {
		g := built(t, graph.Options{Level: c.level}, links...)
		var names []string
		for _, v := range vertices(t, g) {
			names = append(names, fmt.Sprint(v.Name, " ", v.Hosts))
		}
		if got := edges(t, g); !slices.Equal(got, c.edges) || !slices.Equal(names, c.names) || g.Counts != c.counts {
			t.Errorf("%s:\n%q\n%q\n%+v\nwant\n%q\n%q\n%+v", c.level, names, got, g.Counts, c.names, c.edges, c.counts)
		}
		l, err := graph.ParseLevel(c.level.String())
		assert.Truef(t, err == nil && l == c.level, "%s is read as %v: %v", c.level, l, err)
	}
	_, err := graph.ParseLevel("host")
	assert.Error(t, err, "host is taken for a level")
}

func brute(level graph.Level, links []link) (names, list []string) {
	type name struct{ sort, name string }
	of := func(s string) (n name, ok bool) {
		u, err := canon.Parse(s)
		if err != nil {
			return n, false
		}
		host := u.Host()
		if level == graph.Domains {
			host = u.RegistrableDomain()
		}
		labels := strings.Split(host, ".")
		if _, ip := u.Authority().Addr(); !ip {
			slices.Reverse(labels)
		}
		n = name{strings.Join(labels, "."), host}
		if level == graph.Pages {
			n = name{n.sort + "\x00" + u.String(), u.String()}
		}
		return n, true
	}
	seen := map[name]bool{}
	weights := map[[2]name]int{}
	for _, l := range links {
		from, okFrom := of(l.from)
		to, okTo := of(l.to)
		seen[from] = seen[from] || okFrom
		seen[to] = seen[to] || okTo
		if okFrom && okTo && from != to {
			weights[[2]name{from, to}]++
		}
	}
	bySort := func(a, b name) int { return cmp.Compare(a.sort, b.sort) }
	for _, n := range slices.SortedFunc(maps.Keys(seen), bySort) {
		if seen[n] {
			names = append(names, n.name)
		}
	}
	for _, e := range slices.SortedFunc(maps.Keys(weights), func(a, b [2]name) int { return cmp.Or(bySort(a[0], b[0]), bySort(a[1], b[1])) }) {
		list = append(list, fmt.Sprintf("%s %s %d", e[0].name, e[1].name, weights[e]))
	}
	return names, list
}

func TestGraph_EqualsMapsInAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(16, 3))
	var urls []string
	for i := range 400 {
		hosts := []string{"www.example.org", "example.org", "a-b.example.co.uk", "example.co.uk", "192.0.2.1", "[::1]", "x.github.io", "localhost", fmt.Sprintf("h%d.example", i)}
		urls = append(urls, fmt.Sprintf("http://%s:%d/p%d?q=%d", hosts[random.IntN(len(hosts))], 80+random.IntN(2), random.IntN(5), random.IntN(3)))
	}
	urls = append(urls, "mailto:x@example.org", "", "http://", "HTTP://WWW.EXAMPLE.ORG\\x", "http:/x.example/a", "http://user@www.example.org/", "http://ex ample/", "http://a.example\x00/", "http://a.example/\x01\xff")
	var links []link
	for range 6000 {
		links = append(links, link{urls[random.IntN(len(urls))], urls[random.IntN(len(urls))]})
	}
	links = slices.DeleteFunc(links, func(l link) bool { return l.to == "" })
	for _, level := range []graph.Level{graph.Hosts, graph.Pages, graph.Domains} {
		names, list := brute(level, links)
		for _, memory := range []int{0, 2000} { // the second spills hundreds of times
			g := built(t, graph.Options{Level: level, Memory: memory}, links...)
			var got []string
			for _, v := range vertices(t, g) {
				got = append(got, v.Name)
			}
			require.Truef(t, slices.Equal(got, names), "%s: vertices\n%q\nwant\n%q", level, got, names)
			if got := edges(t, g); !slices.Equal(got, list) {
				t.Fatalf("%s: edges\n%q\nwant\n%q", level, got, list)
			}
			random.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
		}
	}
}

func TestGraph_CountsVerticesBeyondMax(t *testing.T) {
	g := built(t, graph.Options{MaxVertices: 2}, link{"http://a.example/", "http://b.example/"}, link{"http://a.example/", "http://c.example/"},
		link{"http://c.example/", "http://c.example/"}, link{"http://b.example/", "http://a.example/"})
	got := edges(t, g)
	assert.Truef(t, slices.Equal(got, []string{"a.example b.example 1", "b.example a.example 1"}) && g.Counts.LeftOut == 2, "edges %q, counts %+v", got, g.Counts)
}

func TestGraph_VertexRecordsFetched(t *testing.T) {
	for _, level := range []graph.Level{graph.Hosts, graph.Domains} {
		g := built(t, graph.Options{Level: level}, link{"http://a.example/x", ""}, link{"http://a.example/x", "http://b.example/"}, link{"http://b.example/", "http://c.example/"}, link{"http://c.example/1", ""})
		for i, v := range vertices(t, g) {
			want := i != 1
			assert.Falsef(t, v.Fetched != want || level == graph.Domains && v.Hosts != 1, "%s: %+v", level, v)
		}
	}
}

func TestNoLinksGiveAnEmptyGraph(t *testing.T) {
	g := built(t, graph.Options{})
	assert.Truef(t, g.Order() == 0 && len(edges(t, g)) == 0, "%d vertices, %d edges", g.Order(), g.Size())
}

func TestAGraphThatIsClosedLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		b := graph.New(graph.Options{Dir: dir, Memory: 1000, Level: graph.Pages})
		for i := range 2000 {
			require.NoError(t, b.Link(fmt.Sprintf("http://a.example/%d", i), fmt.Sprintf("http://b.example/%d", i/2)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		g, err := b.Graph(ctx)
		require.NoError(t, err)
		cancel()
		require.NoError(t, g.Close())
		_, err = graph.New(graph.Options{Dir: dir}).Graph(t.Context())
		require.NoError(t, err)
	}
	left, err := os.ReadDir(dir)
	assert.Truef(t, err == nil && len(left) <= 0, "left: %v %v", left, err)
}

func TestGraph_InterruptedLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	b := graph.New(graph.Options{Dir: dir})
	require.NoError(t, b.Link("http://a.example/", "http://b.example/"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Graph(ctx)
	assert.ErrorIsf(t, err, context.Canceled, "error %v", err)
	left, err := os.ReadDir(dir)
	assert.Truef(t, err == nil && len(left) <= 0, "left: %v %v", left, err)
}

func TestGraph_MissingFolder(t *testing.T) {
	b := graph.New(graph.Options{Dir: "/nowhere/at/all", Level: graph.Pages})
	var err error
	for i := 0; err == nil && i < 100_000; i++ {
		err = b.Link(fmt.Sprintf("http://a.example/%d", i), "http://b.example/")
	}
	require.Error(t, err, "no error")
	_, again := b.Graph(t.Context())
	assert.True(t, again != nil, "a graph all the same")
}

func TestReverseUndoesItself(t *testing.T) {
	for host, want := range map[string]string{
		"www.example.org": "org.example.www", "localhost": "localhost", "192.0.2.1": "192.0.2.1", "[::1]": "[::1]", "": "",
		"1.0.0.127.in-addr.arpa": "arpa.in-addr.127.0.0.1", "1password.example": "example.1password",
	} {
		got := graph.Reverse(host)
		assert.Truef(t, got == want && graph.Reverse(got) == host, "%q reversed is %q, and again %q", host, got, graph.Reverse(got))
	}
}
