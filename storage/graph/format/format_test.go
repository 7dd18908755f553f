package format_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"curtsy/storage/graph"
	"curtsy/storage/graph/format"
	"curtsy/storage/graph/measure"
	"curtsy/storage/tables"
)

// chain is a graph in which each vertex links to the next. No Builder makes such names.
type chain struct {
	names []string
	err   error // after the vertices
}

func (c chain) Order() int  { return len(c.names) }
func (c chain) Size() int64 { return int64(len(c.names)) - 1 }
func (c chain) In() []uint32 {
	in := slices.Repeat([]uint32{1}, len(c.names))
	in[0] = 0
	return in
}

func (c chain) Out() []uint32 {
	out := c.In()
	slices.Reverse(out)
	return out
}

func (c chain) Vertices() iter.Seq2[graph.Vertex, error] {
	return func(yield func(graph.Vertex, error) bool) {
		for i, name := range c.names {
			if !yield(graph.Vertex{ID: uint32(i), Name: name, Reversed: name, Hosts: 7, Fetched: i == 0}, nil) {
				return
			}
		}
	}
}

func (c chain) Rows() iter.Seq2[graph.Row, error] {
	return func(yield func(graph.Row, error) bool) {
		for i := range len(c.names) - 1 {
			if !yield(graph.Row{From: uint32(i), To: []uint32{uint32(i) + 1}, Weight: []uint32{uint32(i) + 5}}, c.err) {
				return
			}
		}
	}
}

func (c chain) document(level graph.Level) *format.Document {
	d := &format.Document{Level: level, Graph: c, Harmonic: measure.Harmonic{Exact: true}}
	for i := range c.names {
		d.PageRank = append(d.PageRank, 0.25*float64(1+i%2))
		d.Harmonic.Values = append(d.Harmonic.Values, float64(i)/4)
	}
	return d
}

func wrote(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const wantGraphML = `<?xml version="1.0" encoding="UTF-8"?>
<!-- made by curtsy export -->
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="in_degree" for="node" attr.name="in_degree" attr.type="long"/>
<key id="out_degree" for="node" attr.name="out_degree" attr.type="long"/>
<key id="pagerank" for="node" attr.name="pagerank" attr.type="double"/>
<key id="harmonic" for="node" attr.name="harmonic" attr.type="double"/>
<key id="fetched" for="node" attr.name="fetched" attr.type="boolean"/>
<key id="weight" for="edge" attr.name="weight" attr.type="long"/>
<graph id="hosts" edgedefault="directed">
<desc>Links between hosts: 2 vertices, 1 edges. PageRank with damping 0.85; harmonic centrality is exact.</desc>
<node id="n0"><data key="label">a</data><data key="in_degree">0</data><data key="out_degree">1</data><data key="pagerank">0.25</data><data key="harmonic">0</data><data key="fetched">true</data></node>
<node id="n1"><data key="label">b</data><data key="in_degree">1</data><data key="out_degree">0</data><data key="pagerank">0.5</data><data key="harmonic">0.25</data><data key="fetched">false</data></node>
<edge source="n0" target="n1"><data key="weight">5</data></edge>
</graph>
</graphml>
`

const wantGEXF = `<?xml version="1.0" encoding="UTF-8"?>
<!-- made by curtsy export -->
<gexf xmlns="http://www.gexf.net/1.2draft" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.gexf.net/1.2draft http://www.gexf.net/1.2draft/gexf.xsd" version="1.2">
<meta><creator>curtsy</creator><description>Links between hosts: 2 vertices, 1 edges. PageRank with damping 0.85; harmonic centrality is exact.</description></meta>
<graph mode="static" defaultedgetype="directed" idtype="integer">
<attributes class="node" mode="static">
<attribute id="0" title="in_degree" type="long"/>
<attribute id="1" title="out_degree" type="long"/>
<attribute id="2" title="pagerank" type="double"/>
<attribute id="3" title="harmonic" type="double"/>
<attribute id="4" title="fetched" type="boolean"/>
</attributes>
<nodes>
<node id="0" label="a"><attvalues><attvalue for="0" value="0"/><attvalue for="1" value="1"/><attvalue for="2" value="0.25"/><attvalue for="3" value="0"/><attvalue for="4" value="true"/></attvalues></node>
<node id="1" label="b"><attvalues><attvalue for="0" value="1"/><attvalue for="1" value="0"/><attvalue for="2" value="0.5"/><attvalue for="3" value="0.25"/><attvalue for="4" value="false"/></attvalues></node>
</nodes>
<edges>
<edge id="0" source="0" target="1" weight="5"/>
</edges>
</graph>
</gexf>
`

func TestXMLIsWrittenAsThis(t *testing.T) {
	d := chain{names: []string{"a", "b"}}.document(graph.Hosts)
	if got := wrote(t, d.GraphML); got != wantGraphML {
		t.Errorf("GraphML\n%s", got)
	}
	if got := wrote(t, d.GEXF); got != wantGEXF {
		t.Errorf("GEXF\n%s", got)
	}
	d.Harmonic = measure.Harmonic{Values: d.Harmonic.Values, Error: 0.065}
	if got := wrote(t, d.GEXF); !strings.Contains(got, "is estimated by HyperBall, relative standard deviation of a counter 6.5 %.") {
		t.Errorf("GEXF of estimates\n%s", got)
	}
}

// As in cc-main-…-host-vertices.txt.gz and its neighbours.
func TestFilesAreThoseOfCommonCrawl(t *testing.T) {
	c := chain{names: []string{"com.example", "com.example.a", "org.example"}}
	for _, level := range []graph.Level{graph.Hosts, graph.Domains} {
		want := map[string]string{
			"vertices": "0\tcom.example\n1\tcom.example.a\n2\torg.example\n", "edges": "0\t1\n1\t2\n",
			"ranks": "#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev\n" +
				"1\t0.5\t3\t0.25\torg.example\n2\t0.25\t1\t0.5\tcom.example.a\n3\t0\t2\t0.25\tcom.example\n",
		}
		if level == graph.Domains {
			want["vertices"] = strings.ReplaceAll(want["vertices"], "\n", "\t7\n")
			want["ranks"] = strings.ReplaceAll(strings.Replace(want["ranks"], "#host_rev\n", "#host_rev\t#n_hosts\r", 1), "\n", "\t7\n")
			want["ranks"] = strings.Replace(want["ranks"], "\r", "\n", 1)
		}
		dir := t.TempDir()
		d := c.document(level)
		d.PageRank[2] = 0.25
		d.Harmonic.Values = []float64{0, 0.25, 0.5}
		d.Dir = dir
		// The third has the PageRank of the first, so the first is before it.
		paths, err := d.Write(t.Context(), dir, "webgraph")
		if err != nil || len(paths) != 3 {
			t.Fatalf("%q: %v", paths, err)
		}
		for name, want := range want {
			f, err := os.Open(filepath.Join(dir, level.String()+"-"+name+".txt.gz"))
			if err != nil {
				t.Fatal(err)
			}
			z, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(z)
			f.Close()
			if err != nil || string(got) != want {
				t.Errorf("%s of %s: %v\n%s\nwant\n%s", name, level, err, got, want)
			}
		}
	}
}

func TestRowsAreThoseOfTheTables(t *testing.T) {
	for _, level := range []graph.Level{graph.Hosts, graph.Domains} {
		d := chain{names: []string{"a", "\xff"}}.document(level)
		var vertices, edges []tables.Row
		if err := d.VertexRows(func(r tables.Row) error { vertices = append(vertices, r); return tables.Vertices.Check(r) }); err != nil {
			t.Fatal(err)
		}
		if err := d.EdgeRows(func(r tables.Row) error { edges = append(edges, r); return tables.Edges.Check(r) }); err != nil {
			t.Fatal(err)
		}
		if len(vertices) != 2 || len(edges) != 1 || edges[0][2].Number() != 5 {
			t.Fatalf("%v %v", vertices, edges)
		}
		for name, want := range map[string]tables.Value{
			"id": tables.Long(1), "name": tables.Text("\ufffd"), "in_degree": tables.Long(1), "out_degree": tables.Long(0), "pagerank": tables.Float(0.5),
			"harmonic": tables.Float(0.25), "fetched": tables.Flag(false),
		} {
			if got := vertices[1][tables.Vertices.Index(name)]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		if hosts := vertices[0][tables.Vertices.Index("hosts")]; hosts.IsNull() != (level != graph.Domains) {
			t.Errorf("%s: hosts is %v", level, hosts)
		}
		if err := d.EdgeRows(func(tables.Row) error { return errDisk }); !errors.Is(err, errDisk) {
			t.Errorf("error %v", err)
		}
	}
	if err := errors.Join(tables.Vertices.Valid(), tables.Edges.Valid()); err != nil {
		t.Error(err)
	}
}

// labels are the names in an XML document, as an XML parser reads them.
func labels(t testing.TB, document string) (found []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(document))
	for inLabel := false; ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%v in\n%q", err, document)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			inLabel = false
			for _, a := range tok.Attr {
				if a.Name.Local == "label" {
					found = append(found, a.Value)
				}
				if a.Name.Local == "key" && a.Value == "label" {
					inLabel = true
					found = append(found, "")
				}
			}
		case xml.CharData:
			if inLabel {
				found[len(found)-1] += string(tok)
			}
		case xml.EndElement:
			inLabel = false
		}
	}
}

// XML 1.0, 2.2: Char ::= #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]
func TestNamesThatXMLCannotHoldArePercentEncoded(t *testing.T) {
	for name, want := range map[string]string{
		"plain.example":            "plain.example",
		"<&>\"'":                   "<&>\"'",
		"]]><!--&#0;":              "]]><!--&#0;",
		"a\x00b\x1f":               "a%00b%1F",
		"a\tb\r\nc":                "a%09b%0D%0Ac",
		"\xff\xc3":                 "%FF%C3",
		"\xed\xa0\x80":             "%ED%A0%80", // a surrogate
		"\uffff\ufffe":             "%EF%BF%BF%EF%BF%BE",
		"\u0085\u2028\x7f":         "%C2%85%E2%80%A8%7F",
		"\ufffd\u00e9\U0001f600":   "\ufffd\u00e9\U0001f600",
		"</data></node></graph>":   "</data></node></graph>",
		strings.Repeat("x", 1<<20): strings.Repeat("x", 1<<20),
		"\u202egnp.exe":            "\u202egnp.exe", // data, not for a terminal
	} {
		d := chain{names: []string{name, "b"}}.document(graph.Pages)
		for _, write := range []func(io.Writer) error{d.GraphML, d.GEXF} {
			if got := labels(t, wrote(t, write)); !slices.Equal(got, []string{want, "b"}) {
				t.Errorf("%.40q is read as %.60q", name, got)
			}
		}
		if got, _, _ := strings.Cut(wrote(t, d.Vertices), "\n1\tb\n"); got != "0\t"+want {
			t.Errorf("%.40q is the line %.60q", name, got)
		}
	}
}

// Any names make well-formed XML with as many vertices, and as many lines of text.
func FuzzNames(f *testing.F) {
	f.Add("a", "<b>&amp;\x00")
	f.Add("\xff\xfe", "]]>\r\n\t\"'")
	f.Fuzz(func(t *testing.T, a, b string) {
		d := chain{names: []string{a, b, a}}.document(graph.Hosts)
		for _, write := range []func(io.Writer) error{d.GraphML, d.GEXF} {
			text := wrote(t, write)
			if got := labels(t, text); len(got) != 3 || got[0] != got[2] || !utf8.ValidString(text) || (a == b) != (got[0] == got[1]) && !strings.Contains(a+b, "%") {
				t.Fatalf("%q and %q are read as %q", a, b, got)
			}
		}
		for _, write := range []func(io.Writer) error{d.Vertices, d.Ranks} {
			for i, line := range strings.Split(strings.TrimSuffix(wrote(t, write), "\n"), "\n") {
				if n := strings.Count(line, "\t"); n != 1 && n != 4 || i > 3 {
					t.Fatalf("%q and %q give the line %q", a, b, line)
				}
			}
		}
	})
}

var errDisk = errors.New("the disk is gone")

// full is a disk with room for so many bytes.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestAFileIsWholeOrNotThere(t *testing.T) {
	names := slices.Repeat([]string{strings.Repeat("x", 100)}, 2000)
	whole, torn := chain{names: names}.document(graph.Hosts), chain{names: names, err: errDisk}.document(graph.Hosts)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range format.Names {
		dir := t.TempDir()
		if _, err := torn.Write(t.Context(), dir, name); !errors.Is(err, errDisk) {
			t.Errorf("%s of a graph that cannot be read: %v", name, err)
		}
		if _, err := whole.Write(ctx, dir, name); !errors.Is(err, context.Canceled) {
			t.Errorf("%s broken off: %v", name, err)
		}
		left, err := filepath.Glob(filepath.Join(dir, "*"))
		left = slices.DeleteFunc(left, func(path string) bool { return strings.HasSuffix(path, "vertices.txt.gz") }) // it was whole
		if err != nil || len(left) > 0 {
			t.Errorf("%s left %q: %v", name, left, err)
		}
	}
	for _, write := range []func(io.Writer) error{whole.GraphML, whole.GEXF, whole.Vertices, whole.Edges, whole.Ranks} {
		for _, room := range []int{0, 10, 5000} {
			if err := write(&full{room}); !errors.Is(err, errDisk) {
				t.Errorf("a full disk: %v", err)
			}
		}
	}
	if _, err := whole.Write(t.Context(), t.TempDir(), "dot"); err == nil {
		t.Error("dot is taken for a format")
	}
}
