// Package graph builds a directed graph of pages, hosts or registrable domains on disk from a stream of links.
//
// A Builder takes links in any order. Its Graph numbers vertices from 0 in the order of their reversed host names, as
// Common Crawl does, and pages of one host by URL. An edge's weight is its number of links; a link from a vertex to itself
// is only counted. Equal links give equal graphs.
//
// Names and edges are on disk; memory holds a fixed number of bytes for each vertex and none for an edge. A Builder finds a
// name by 64 bits of a keyed hash: two names that share it would be one vertex, which has a chance of 3 in a million among
// ten million vertices, and nobody can construct. MaxVertices bounds a hostile crawl.
//
//	builder   an entry of a map, 20 to 40 bytes a vertex; of domains 10 to 20 for each host; 4 bytes a vertex beside
//	graph     12 bytes a vertex: the two degrees, and the note beside the name
//	sorting   Options.Memory
//
// Temporary files are unlinked once open where the system allows it.
package graph
