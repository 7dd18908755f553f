package tables

// Duplicates has a row for each page that says the same as another one, or nearly the same.
var Duplicates = Table{
	Name: "duplicates",
	Doc: "A page with the same or nearly the same text as another. In a cluster each page is a copy of another one, or shares " +
		"80 % of its shingles with it (docs/guides/export.md). A URL that was fetched several times counts with its latest content",
	Key: []string{"cluster", "url_surtkey", "url"},
	Columns: []Column{
		{Name: "cluster", Kind: String, Required: true, Doc: "the cluster, 16 hexadecimal digits: FNV-1a of 64 bits of the representative's URL"},
		{Name: "cluster_size", Kind: Int64, Required: true, Doc: "pages of the cluster"},
		{Name: "url_surtkey", Kind: String, Required: true, Doc: "sort key of the URL, as in `pages`"},
		{Name: "url", Kind: String, Required: true, Doc: "the page, as in `pages`"},
		{Name: "fetch_time", Kind: Time, Required: true, Doc: "when it was fetched, as in `pages`"},
		{Name: "representative", Kind: String, Required: true, Few: true, Doc: "URL that represents the cluster: the shortest, and among equals the first in byte order"},
		{Name: "kind", Kind: String, Required: true, Few: true, Doc: "`representative`: this page · `exact`: a copy of it, by the same digest · `near`: any other"},
		{Name: "similarity", Kind: Float64, Required: true, Doc: "share of the shingles of the page and of the representative that both have, from 0 to 1; it may be below 0.8 in a chain of similar pages"},
		{Name: "text_digest", Kind: String, Required: true, Doc: "digest of the text and the images, as `trap:copy` compares them: 16 hexadecimal digits"},
	},
}
