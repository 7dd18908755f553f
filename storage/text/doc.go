// Package text extracts the whole text, the main text and the language of an archived page. It does no I/O but reading
// the body that it is given.
//
// # Whole text
//
// The page is read tag by tag, without a tree. So its text is had however deep or wrong it nests, and what it costs
// grows with its bytes alone. The title comes first where the page has it first. Blocks are lines, white space is one
// space, no line is empty. Contents of script, style, template and iframe are no text; those of noscript are, since
// nobody here runs scripts. What a style sheet hides is not known, and stays.
//
// # Main text
//
// A tree is built of a lean page: the same without what an extractor has no use for. Package readability, which follows
// the reader view of Firefox line by line, finds the main part of it (docs/dev/decisions.md, 15). The lean page has no formatting
// elements, of which a hostile page can have the parser make millions; it is bounded in elements and bytes; and package
// html refuses to nest deeper than 512. A page beyond a bound has no main text, and Page.NoMain says which. So has one
// that the extractor panics about.
//
// # Language
//
// Package language detects it in the whole text. What the page and its server declare is told beside it, never mixed:
// both are often wrong, in different ways.
package text
