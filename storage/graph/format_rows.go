package graph

import (
	"curtsy/storage/tables"
)

// VertexRows gives the rows of the table of vertices.
func (d *Document) VertexRows(to func(tables.Row) error) error {
	in, out := d.Graph.In(), d.Graph.Out()
	for v, err := range d.Graph.Vertices() {
		if err != nil {
			return err
		}
		hosts := tables.Null()
		if d.Level == Domains {
			hosts = tables.Long(v.Hosts)
		}
		err := to(tables.Row{
			tables.Long(int64(v.ID)), tables.Text(v.Name), tables.Text(v.Reversed), tables.Flag(v.Fetched),
			tables.Long(int64(in[v.ID])), tables.Long(int64(out[v.ID])), hosts,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// EdgeRows gives the rows of the table of edges.
func (d *Document) EdgeRows(to func(tables.Row) error) error {
	for row, err := range d.Graph.Rows() {
		if err != nil {
			return err
		}
		for i, target := range row.To {
			if err := to(tables.Row{tables.Long(int64(row.From)), tables.Long(int64(target)), tables.Long(int64(row.Weight[i]))}); err != nil {
				return err
			}
		}
	}
	return nil
}
