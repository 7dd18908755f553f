// Package graph builds a directed graph of pages, hosts or registrable domains on disk from a stream of links.
//
// A Builder takes links one at a time, in any order. Its Graph numbers the vertices from 0 on in the order of their
// reversed host names, as Common Crawl's web graphs do; pages of one host stand in the order of their URLs. An edge is
// there once, and its weight says how many links it stands for. A link from a vertex to itself is counted and is no edge.
// The same links give the same graph, whatever their order.
//
// # Memory
//
// Names and edges are on disk; memory holds a fixed number of bytes for each vertex and none for an edge. A Builder finds
// the number of a name by 64 bits of a keyed hash of it: two names that share them would be one vertex, which among ten
// million vertices has a chance of 3 in a million. The key is another one in each process, so nobody can make such names.
// MaxVertices bounds what a hostile crawl can take; links beyond are counted as left out.
//
//	builder   an entry of a map, 20 to 40 bytes a vertex; of domains 10 to 20 for each host; 4 bytes a vertex beside
//	graph     12 bytes a vertex: the two degrees, and what is known beside the name
//	sorting   Options.Memory
//
// # What the package never does
//
// It fetches nothing and reads no archive: package archived does. It keeps no file under a name: temporary files are
// unlinked as soon as they are open, where the system can do that. Files for others are in
// package format, a picture in package picture.
package graph
