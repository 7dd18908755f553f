package graph

import (
	"fmt"
	"io"
	"strconv"
)

// about says in a sentence what a file holds.
func (d *Document) about() string {
	return fmt.Sprintf("Links between %s: %d vertices, %d edges.", d.Level, d.Graph.Order(), d.Graph.Size())
}

// columns are the values of a vertex, by their names.
var columns = [...]struct{ name, kind string }{
	{"in_degree", "long"}, {"out_degree", "long"}, {"fetched", "boolean"}, {"hosts", "long"},
}

// columns are those of this document: only domains have hosts.
func (d *Document) columns() []struct{ name, kind string } {
	if d.Level == Domains {
		return columns[:]
	}
	return columns[:3]
}

// value appends a value of a vertex.
func (d *Document) value(b []byte, column int, v *Vertex) []byte {
	switch column {
	case 0:
		return strconv.AppendUint(b, uint64(d.Graph.In()[v.ID]), 10)
	case 1:
		return strconv.AppendUint(b, uint64(d.Graph.Out()[v.ID]), 10)
	case 2:
		return strconv.AppendBool(b, v.Fetched)
	}
	return strconv.AppendInt(b, v.Hosts, 10)
}

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
	err := d.each(p, func(v *Vertex) {
		p.b = strconv.AppendUint(append(p.b, `<node id="n`...), uint64(v.ID), 10)
		p.b = plainText(append(p.b, `"><data key="label">`...), v.Name)
		p.text("</data>")
		for i, c := range d.columns() {
			p.text(`<data key="` + c.name + `">`)
			p.b = append(d.value(p.b, i, v), "</data>"...)
		}
		p.text("</node>\n")
	}, func(e *Edge) {
		p.b = strconv.AppendUint(append(p.b, `<edge source="n`...), uint64(e.From), 10)
		p.b = strconv.AppendUint(append(p.b, `" target="n`...), uint64(e.To), 10)
		p.b = strconv.AppendUint(append(p.b, `"><data key="weight">`...), uint64(e.Weight), 10)
		p.text("</data></edge>\n")
	})
	if err != nil {
		return err
	}
	p.text("</graph>\n</graphml>\n")
	return p.end()
}

// each writes what vertex and edge put together, of all vertices, then of all edges.
func (d *Document) each(p *page, vertex func(*Vertex), edge func(*Edge)) error {
	for v, err := range d.Graph.Vertices() {
		if err != nil {
			return err
		}
		vertex(&v)
		if err := p.write(); err != nil {
			return err
		}
	}
	for e, err := range d.Graph.Edges() {
		if err != nil {
			return err
		}
		edge(&e)
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
