// Package rules holds what the archived robots.txt files say. A Store keeps their texts in a temporary file, each
// once, and recomputes verdicts, paces and quotes from them through robots/naive: a second reading of RFC 9309 that
// shares no code with the crawler's. Parsed rules lie in a cache of bounded size.
//
// Which text binds whom, and when, is for the judges of package audit.
package rules
