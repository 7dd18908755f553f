package tables

// Vertices has a row for each vertex of a graph of links.
var Vertices = Table{
	Name: "vertices",
	Doc:  "A vertex of a graph of links: a page, a host or a registrable domain",
	Key:  []string{"id"},
	Columns: []Column{
		{Name: "id", Kind: Int64, Required: true, Doc: "its number, from 0 on, in the order of reversed names"},
		{Name: "name", Kind: String, Required: true, Doc: "URL, host or domain"},
		{Name: "reversed_name", Kind: String, Required: true, Doc: "the same with the labels of the host turned round, as Common Crawl's web graphs have it; of a page its URL"},
		{Name: "fetched", Kind: Bool, Required: true, Doc: "something of it was fetched, and not only linked to"},
		{Name: "in_degree", Kind: Int64, Required: true, Doc: "edges that lead to it"},
		{Name: "out_degree", Kind: Int64, Required: true, Doc: "edges that it has"},
		{Name: "hosts", Kind: Int64, Doc: "of a domain, how many hosts of it were met; null for others"},
	},
}

// Edges has a row for each edge of a graph of links.
var Edges = Table{
	Name: "edges",
	Doc:  "An edge of a graph of links, each once",
	Key:  []string{"from_id", "to_id"},
	Columns: []Column{
		{Name: "from_id", Kind: Int64, Required: true, Doc: "the vertex that links"},
		{Name: "to_id", Kind: Int64, Required: true, Doc: "the vertex that is linked to"},
		{Name: "weight", Kind: Int64, Required: true, Doc: "number of its links"},
	},
}
