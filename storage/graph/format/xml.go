package format

import (
	"fmt"
	"io"
	"strconv"

	"curtsy/storage/graph"
)

// about says in a sentence what a file holds.
func (d *Document) about() string {
	s := fmt.Sprintf("Links between %s: %d vertices, %d edges. PageRank with damping 0.85; harmonic centrality ", d.Level, d.Graph.Order(), d.Graph.Size())
	if d.Harmonic.Exact {
		return s + "is exact."
	}
	return s + fmt.Sprintf("is estimated by HyperBall, relative standard deviation of a counter %.1f %%.", 100*d.Harmonic.Error)
}

// columns are the measures of a vertex, by their names.
var columns = [...]struct{ name, kind string }{
	{"in_degree", "long"}, {"out_degree", "long"}, {"pagerank", "double"}, {"harmonic", "double"}, {"fetched", "boolean"}, {"hosts", "long"},
}

// columns are those of this document: only domains have hosts.
func (d *Document) columns() []struct{ name, kind string } {
	if d.Level == graph.Domains {
		return columns[:]
	}
	return columns[:5]
}

// value appends a measure of a vertex.
func (d *Document) value(b []byte, column int, v *graph.Vertex) []byte {
	switch column {
	case 0:
		return strconv.AppendUint(b, uint64(d.Graph.In()[v.ID]), 10)
	case 1:
		return strconv.AppendUint(b, uint64(d.Graph.Out()[v.ID]), 10)
	case 2:
		return number(b, d.PageRank[v.ID])
	case 3:
		return number(b, d.Harmonic.Values[v.ID])
	case 4:
		return strconv.AppendBool(b, v.Fetched)
	}
	return strconv.AppendInt(b, v.Hosts, 10)
}

func number(b []byte, f float64) []byte { return strconv.AppendFloat(b, f, 'g', -1, 64) }

// GraphML writes GraphML 1.0 (http://graphml.graphdrawing.org/specification.html).
func (d *Document) GraphML(w io.Writer) error {
	p := newPage(w)
	p.text(`<?xml version="1.0" encoding="UTF-8"?>
<!-- ` + Mark + ` -->
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
<key id="label" for="node" attr.name="label" attr.type="string"/>
`)
	for _, c := range d.columns() {
		p.text(`<key id="` + c.name + `" for="node" attr.name="` + c.name + `" attr.type="` + c.kind + "\"/>\n")
	}
	p.text(`<key id="weight" for="edge" attr.name="weight" attr.type="long"/>
<graph id="` + d.Level.String() + `" edgedefault="directed">
<desc>` + d.about() + "</desc>\n")
	err := d.each(p, func(v *graph.Vertex) {
		p.b = strconv.AppendUint(append(p.b, `<node id="n`...), uint64(v.ID), 10)
		p.b = plainText(append(p.b, `"><data key="label">`...), v.Name, true)
		p.text("</data>")
		for i, c := range d.columns() {
			p.text(`<data key="` + c.name + `">`)
			p.b = append(d.value(p.b, i, v), "</data>"...)
		}
		p.text("</node>\n")
	}, func(_ uint64, from, to, weight uint32) {
		p.b = strconv.AppendUint(append(p.b, `<edge source="n`...), uint64(from), 10)
		p.b = strconv.AppendUint(append(p.b, `" target="n`...), uint64(to), 10)
		p.b = strconv.AppendUint(append(p.b, `"><data key="weight">`...), uint64(weight), 10)
		p.text("</data></edge>\n")
	}, "")
	if err != nil {
		return err
	}
	p.text("</graph>\n</graphml>\n")
	return p.end()
}

// GEXF writes GEXF 1.2 (https://gexf.net): Gephi reads it as it does 1.3, and networkx has no later one by default.
func (d *Document) GEXF(w io.Writer) error {
	p := newPage(w)
	p.text(`<?xml version="1.0" encoding="UTF-8"?>
<!-- ` + Mark + ` -->
<gexf xmlns="http://www.gexf.net/1.2draft" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.gexf.net/1.2draft http://www.gexf.net/1.2draft/gexf.xsd" version="1.2">
<meta><creator>curtsy</creator><description>` + d.about() + `</description></meta>
<graph mode="static" defaultedgetype="directed" idtype="integer">
<attributes class="node" mode="static">
`)
	for i, c := range d.columns() {
		p.text(`<attribute id="` + strconv.Itoa(i) + `" title="` + c.name + `" type="` + c.kind + "\"/>\n")
	}
	p.text("</attributes>\n<nodes>\n")
	err := d.each(p, func(v *graph.Vertex) {
		p.b = strconv.AppendUint(append(p.b, `<node id="`...), uint64(v.ID), 10)
		p.b = plainText(append(p.b, `" label="`...), v.Name, true)
		p.text(`"><attvalues>`)
		for i := range d.columns() {
			p.b = strconv.AppendInt(append(p.b, `<attvalue for="`...), int64(i), 10)
			p.b = append(d.value(append(p.b, `" value="`...), i, v), `"/>`...)
		}
		p.text("</attvalues></node>\n")
	}, func(n uint64, from, to, weight uint32) {
		p.b = strconv.AppendUint(append(p.b, `<edge id="`...), n, 10)
		p.b = strconv.AppendUint(append(p.b, `" source="`...), uint64(from), 10)
		p.b = strconv.AppendUint(append(p.b, `" target="`...), uint64(to), 10)
		p.b = strconv.AppendUint(append(p.b, `" weight="`...), uint64(weight), 10)
		p.text("\"/>\n")
	}, "</nodes>\n<edges>\n")
	if err != nil {
		return err
	}
	p.text("</edges>\n</graph>\n</gexf>\n")
	return p.end()
}

// each writes what vertex and edge put together, of all vertices, and behind between of all edges.
func (d *Document) each(p *page, vertex func(*graph.Vertex), edge func(n uint64, from, to, weight uint32), between string) error {
	for v, err := range d.Graph.Vertices() {
		if err != nil {
			return err
		}
		vertex(&v)
		if err := p.write(); err != nil {
			return err
		}
	}
	p.text(between)
	n := uint64(0)
	for row, err := range d.Graph.Rows() {
		if err != nil {
			return err
		}
		for i, to := range row.To {
			edge(n, row.From, to, row.Weight[i])
			n++
		}
		if err := p.write(); err != nil {
			return err
		}
	}
	return nil
}

// end writes the rest.
func (p *page) end() error {
	if err := p.write(); err != nil {
		return err
	}
	return p.out.Flush()
}
