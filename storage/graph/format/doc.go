// Package format writes a graph as GraphML, and as rows of the tables vertices and edges.
//
// Names are of the web and may hold anything. A byte that is no part of UTF-8, a control character, and the few characters
// that XML 1.0 cannot hold (2.2) are written as percent and two hexadecimal digits, byte by byte, as a URL has them. Markup
// is escaped. Vertices are told apart by number, never by name. A file has its name only when it is whole and durable.
package format
