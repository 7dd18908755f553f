// Package picture draws the top of a graph: places, sizes, groups and labels, as numbers that go into SVG as they are. It
// writes no markup; whoever does escapes the names.
//
// A Top has the vertices of highest in-degree and the edges between them. Draw groups them (Louvain's method, Blondel and
// others, 2008), lets forces place them (repulsion by degree and attraction by the logarithm of distance, after Noack's
// LinLog and Jacomy's ForceAtlas2), pushes discs apart that overlap, and writes labels where there is room, those of the
// highest in-degree first.
//
// Nothing is drawn by chance: the same Top has the same picture, to the tenth of a unit, on every machine that computes in
// IEEE 754 doubles without fusing. Time and size are bounded by MaxVertices and MaxEdges.
package picture
