// Package format writes a graph and its measures in the formats of other programs: GraphML, GEXF 1.2, and the text files of
// Common Crawl's web graphs.
//
// # Names
//
// Names are of the web and may hold anything. A byte that is no part of UTF-8, a control character, and the few characters
// that XML 1.0 cannot hold (2.2) are written as percent and two hexadecimal digits, byte by byte, as a URL has them; so no
// name ends a line or a column either. Markup is escaped. Vertices are told apart by number, never by name.
//
// # Files
//
// GraphML and GEXF have one file each, LEVEL.graphml and LEVEL.gexf; webgraph has three:
//
//	LEVEL-vertices.txt.gz   number, reversed name; of domains the number of their hosts, too
//	LEVEL-edges.txt.gz      number of the source, number of the target
//	LEVEL-ranks.txt.gz      position and value by harmonic centrality, by PageRank, reversed name; by the first position
//
// Columns stand between tabs. Common Crawl's tools and readers take these as they are; it strips a leading www. from host
// names, we do not. A file has its name only when it is whole and durable. Memory is that of the measures, 12 bytes a
// vertex, and 32 MiB to sort the ranks.
package format
