// Package text extracts the whole text, the main text and the language of an archived page. Its only I/O is reading the
// body.
//
// The whole text comes from tags without a tree, so that invalid or deep nesting does no harm and costs are linear. Each
// block is a line, and white space collapses. script, style, template and iframe have no text; noscript has, since scripts
// do not run here. Text hidden by style sheets stays.
//
// For the main text, package readability, which follows Firefox's reader view (docs/dev/decisions.md, 15), gets a tree of a
// lean page: without formatting elements, of which a hostile page makes the parser create millions, and bounded in elements
// and bytes; package html bounds the depth at 512. A page beyond a bound, or on which the extractor panics, has no main
// text; Page.NoMain has the reason.
//
// The language is detected in the whole text. The declarations of page and server are separate, since both are often wrong.
package text
