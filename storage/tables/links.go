package tables

// Links has a row for each mention of a URL in an archived document.
var Links = Table{
	Name: "links",
	Doc: "A mention of a URL in an archived page, style sheet, SVG document or web manifest with a 2xx response, or in the " +
		"`Location` of a redirect, in document order, including repeated mentions and URLs that are not web addresses. An unread " +
		"part of a document is a row of the kind `unread`",
	Key:     []string{"source_surtkey", "fetch_time"}, // rows of one document follow one another
	Lookup:  []string{"source_url", "target_url"},
	Columns: joined(linkSource, linkSays, linkTarget, linkJudged),
}

// linkSource is where the mention stands.
var linkSource = []Column{
	{Name: "source_surtkey", Kind: String, Required: true, Doc: "sort key of the document's URL, as in `pages`"},
	{Name: "fetch_time", Kind: Time, Required: true, Doc: "when the document was requested, to the second, as in `pages`"},
	{Name: "crawl", Kind: String, Required: true, Few: true, Doc: "name of the crawl directory"},
	{Name: "source_url", Kind: String, Required: true, Doc: "URL of the document"},
	{Name: "source_host_name", Kind: String, Few: true, Doc: "its host name or address"},
	{Name: "source_domain", Kind: String, Few: true, Doc: "its registrable domain, by public suffixes including private ones (`github.io`); for an address, the address"},
	{Name: "generation", Kind: Int64, Few: true, Doc: "1 for the crawl, one more with each update"},
	{Name: "position", Kind: Int32, Required: true, Doc: "position of the mention in the document, from 1"},
}

// linkSays is what the mention says.
var linkSays = []Column{
	{Name: "kind", Kind: String, Required: true, Few: true, Doc: "`link`: a link for readers · `embed`: a page requisite · `refresh`: by meta element or header · `redirect`: by `Location` · `unread`: not a mention, but a part that was not read"},
	{Name: "element", Kind: String, Few: true, Doc: "element, in lower case; null in a header, a style sheet and a manifest"},
	{Name: "attribute", Kind: String, Few: true, Doc: "attribute, name of the header, or place in the style sheet: `url`, `import`"},
	{Name: "rel", Kind: List, Doc: "words of the rel attribute in lower case, at most 32 of 64 bytes each; null without one"},
	{Name: "nofollow", Kind: Bool, Required: true, Doc: "it has rel=nofollow, or the document does"},
	{Name: "anchor_text", Kind: String, Doc: "text of a link, white space collapsed, at most 1 KiB; without one, the alt text of its pictures"},
	{Name: "target_written", Kind: String, Doc: "the reference as written, with character references resolved, at most 2 KiB"},
	{Name: "repeated", Kind: Bool, Required: true, Doc: "the document has an earlier mention of this kind of the same URL"},
}

// linkTarget is what it names.
var linkTarget = []Column{
	{Name: "target_url", Kind: String, Doc: "the canonical URL without its fragment; null if it is not a web address"},
	{Name: "target_surtkey", Kind: String, Doc: "its sort key"},
	{Name: "target_host_name", Kind: String, Few: true, Doc: "its host name or address"},
	{Name: "target_domain", Kind: String, Few: true, Doc: "its registrable domain, as in `source_domain`"},
	{Name: "internal", Kind: Bool, Doc: "document and target have the same registrable domain; null without a target"},
	{Name: "same_host", Kind: Bool, Doc: "they have the same host name, regardless of port and scheme"},
}

// linkJudged is what the crawl made of it.
var linkJudged = []Column{
	{Name: "in_scope", Kind: Bool, Few: true, Doc: "the target, as found here, is in scope; null without a target"},
	{Name: "scope_rule", Kind: String, Few: true, Doc: "the rule that decided, one of those in docs/reference/ledger.md"},
	{Name: "followed", Kind: Bool, Required: true, Doc: "the crawl requested the target, however it was found"},
	{Name: "why_not", Kind: String, Few: true, Doc: "why it was not: the ledger's reason or the scope rule; `scheme`, `malformed` and others if it is not a web address; `same page`, `no document`, `too many`; `no decision` without a ledger line; for `unread`, the part that was not read"},
	{Name: "target_decision", Kind: String, Few: true, Doc: "decision of the target's latest ledger line"},
	{Name: "target_outcome", Kind: String, Few: true, Doc: "its outcome"},
	{Name: "target_reason", Kind: String, Few: true, Doc: "its reason"},
	{Name: "target_status", Kind: Int16, Few: true, Doc: "its HTTP status"},
	{Name: "target_time", Kind: Time, Doc: "when that was decided"},
}
