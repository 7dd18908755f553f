package graph_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/graph"
	"curtsy/storage/tables"
)

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

func (c chain) Edges() iter.Seq2[graph.Edge, error] {
	return func(yield func(graph.Edge, error) bool) {
		for i := range len(c.names) - 1 {
			if !yield(graph.Edge{From: uint32(i), To: uint32(i) + 1, Weight: uint32(i) + 5}, c.err) {
				return
			}
		}
	}
}

func (c chain) document(level graph.Level) *graph.Document {
	return &graph.Document{Level: level, Graph: c}
}

func wrote(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(&b))
	return b.String()
}

const wantGraphML = `<?xml version="1.0" encoding="UTF-8"?>
<!-- made by curtsy export -->
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
<key id="label" for="node" attr.name="label" attr.type="string"/>
<key id="in_degree" for="node" attr.name="in_degree" attr.type="long"/>
<key id="out_degree" for="node" attr.name="out_degree" attr.type="long"/>
<key id="fetched" for="node" attr.name="fetched" attr.type="boolean"/>
<key id="weight" for="edge" attr.name="weight" attr.type="long"/>
<graph id="hosts" edgedefault="directed">
<desc>Links between hosts: 2 vertices, 1 edges.</desc>
<node id="n0"><data key="label">a</data><data key="in_degree">0</data><data key="out_degree">1</data><data key="fetched">true</data></node>
<node id="n1"><data key="label">b</data><data key="in_degree">1</data><data key="out_degree">0</data><data key="fetched">false</data></node>
<edge source="n0" target="n1"><data key="weight">5</data></edge>
</graph>
</graphml>
`

func TestXMLIsWrittenAsThis(t *testing.T) {
	d := chain{names: []string{"a", "b"}}.document(graph.Hosts)
	assert.Equal(t, wantGraphML, wrote(t, d.GraphML), "GraphML")
}

func TestRowsAreThoseOfTheTables(t *testing.T) {
	for _, level := range []graph.Level{graph.Hosts, graph.Domains} {
		d := chain{names: []string{"a", "\xff"}}.document(level)
		var vertices, edges []tables.Row
		require.NoError(t, d.VertexRows(func(r tables.Row) error { vertices = append(vertices, r); return tables.Vertices.Check(r) }))
		require.NoError(t, d.EdgeRows(func(r tables.Row) error { edges = append(edges, r); return tables.Edges.Check(r) }))
		require.Truef(t, len(vertices) == 2 && len(edges) == 1 && edges[0][2].Number() == 5, "%v %v", vertices, edges)
		for name, want := range map[string]tables.Value{
			"id": tables.Long(1), "name": tables.Text("\ufffd"), "in_degree": tables.Long(1), "out_degree": tables.Long(0),
			"fetched": tables.Flag(false),
		} {
			assert.Equal(t, want, vertices[1][tables.Vertices.Index(name)], name)
		}
		assert.Equalf(t, (level != graph.Domains), vertices[0][tables.Vertices.Index("hosts")].IsNull(), "%s: hosts", level)
		assert.ErrorIs(t, d.EdgeRows(func(tables.Row) error { return errDisk }), errDisk, "error")
	}
}

func labels(t testing.TB, document string) (found []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(document))
	for inLabel := false; ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoErrorf(t, err, "in\n%q", document)
		switch tok := tok.(type) {
		case xml.StartElement:
			inLabel = false
			for _, a := range tok.Attr {
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
		assert.Equalf(t, []string{want, "b"}, labels(t, wrote(t, d.GraphML)), "how %.40q is read", name)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("a", "<b>&amp;\x00")
	f.Add("\xff\xfe", "]]>\r\n\t\"'")
	f.Fuzz(func(t *testing.T, a, b string) {
		d := chain{names: []string{a, b, a}}.document(graph.Hosts)
		text := wrote(t, d.GraphML)
		if got := labels(t, text); len(got) != 3 || got[0] != got[2] || !utf8.ValidString(text) || (a == b) != (got[0] == got[1]) && !strings.Contains(a+b, "%") {
			t.Fatalf("%q and %q are read as %q", a, b, got)
		}
	})
}

var errDisk = errors.New("the disk is gone")

// full is a disk with room for that many bytes.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestFormats_WriteCompleteFiles(t *testing.T) {
	names := slices.Repeat([]string{strings.Repeat("x", 100)}, 2000)
	whole, torn := chain{names: names}.document(graph.Hosts), chain{names: names, err: errDisk}.document(graph.Hosts)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	_, err := torn.Write(t.Context(), dir)
	assert.ErrorIsf(t, err, errDisk, "a graph that cannot be read: %v", err)
	_, err = whole.Write(ctx, dir)
	assert.ErrorIsf(t, err, context.Canceled, "broken off: %v", err)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	assert.Truef(t, err == nil && len(left) <= 0, "left %q: %v", left, err)
	for _, room := range []int{0, 10, 5000} {
		assert.ErrorIs(t, whole.GraphML(&full{room}), errDisk, "a full disk")
	}
}
