package tables

// Links has a row for each mention of a URL in an archived document.
var Links = Table{
	Name: "links",
	Doc: "A mention of a URL in an archived page, style sheet, SVG document or web manifest that came with 2xx, or in the " +
		"`Location` of a redirect: each of them, in the order of the document, those that are no web addresses and further " +
		"mentions of the same URL among them. A part of a document that is not read is a row of the kind `unread`",
	Key:     []string{"source_surtkey", "fetch_time"}, // rows of one document follow one another
	Lookup:  []string{"source_url", "target_url"},
	Columns: joined(linkSource, linkSays, linkTarget, linkJudged),
}

// linkSource is where the mention stands.
var linkSource = []Column{
	{Name: "source_surtkey", Kind: String, Required: true, Doc: "sort key of the document's URL, as in `pages`"},
	{Name: "fetch_time", Kind: Time, Required: true, Doc: "when the document was asked for, to the second, as in `pages`"},
	{Name: "crawl", Kind: String, Required: true, Few: true, Doc: "name of the crawl directory"},
	{Name: "source_url", Kind: String, Required: true, Doc: "URL of the document"},
	{Name: "source_host_name", Kind: String, Few: true, Doc: "its host name or address"},
	{Name: "source_domain", Kind: String, Few: true, Doc: "its registrable domain, private suffixes (`github.io`) counted; an address is its own"},
	{Name: "generation", Kind: Int64, Few: true, Doc: "1 for the crawl, one more with each update"},
	{Name: "position", Kind: Int32, Required: true, Doc: "which mention of the document it is, from 1"},
}

// linkSays is what the mention says.
var linkSays = []Column{
	{Name: "kind", Kind: String, Required: true, Few: true, Doc: "`link`: for the reader to follow · `embed`: what a browser fetches to show the document · `refresh`: by meta element or header · `redirect`: by `Location` · `unread`: none, but that something was not read"},
	{Name: "element", Kind: String, Few: true, Doc: "element, in lower case; null in a header, a style sheet and a manifest"},
	{Name: "attribute", Kind: String, Few: true, Doc: "attribute, name of the header, or place in the style sheet: `url`, `import`"},
	{Name: "rel", Kind: List, Doc: "words of the rel attribute in lower case, at most 32 of 64 bytes each; null without one"},
	{Name: "nofollow", Kind: Bool, Required: true, Doc: "it has rel=nofollow, or the document asks to follow no link"},
	{Name: "anchor_text", Kind: String, Doc: "text of a link, white space collapsed, at most 1 KiB; the alt of its pictures where it has none"},
	{Name: "target_written", Kind: String, Doc: "the reference as it was written, character references resolved, at most 2 KiB"},
	{Name: "repeated", Kind: Bool, Required: true, Doc: "the document has named the same URL before, by the same kind of mention"},
}

// linkTarget is what it names.
var linkTarget = []Column{
	{Name: "target_url", Kind: String, Doc: "the URL in its canonical form, without its fragment; null where it is no web address"},
	{Name: "target_surtkey", Kind: String, Doc: "its sort key"},
	{Name: "target_host_name", Kind: String, Few: true, Doc: "its host name or address"},
	{Name: "target_domain", Kind: String, Few: true, Doc: "its registrable domain, as in `source_domain`"},
	{Name: "internal", Kind: Bool, Doc: "document and target have the same registrable domain; null without a target"},
	{Name: "same_host", Kind: Bool, Doc: "they have the same host name, at whatever port and by whatever scheme"},
}

// linkJudged is what the crawl made of it.
var linkJudged = []Column{
	{Name: "in_scope", Kind: Bool, Few: true, Doc: "the crawl's scope takes it, found here and so; null without a target"},
	{Name: "scope_rule", Kind: String, Few: true, Doc: "the rule that decided that, one of those in docs/reference/ledger.md"},
	{Name: "followed", Kind: Bool, Required: true, Doc: "the crawl asked for the target, by whatever way it was found"},
	{Name: "why_not", Kind: String, Few: true, Doc: "why it was not: the ledger's reason, or the scope's rule; `scheme`, `malformed` and others where it is no web address; `same page`, `no document`, `too many`; `no decision` where the ledger has no line of it; of `unread` what was not read"},
	{Name: "target_decision", Kind: String, Few: true, Doc: "decision of the ledger's latest line of the target"},
	{Name: "target_outcome", Kind: String, Few: true, Doc: "its outcome"},
	{Name: "target_reason", Kind: String, Few: true, Doc: "its reason"},
	{Name: "target_status", Kind: Int16, Few: true, Doc: "its HTTP status"},
	{Name: "target_time", Kind: Time, Doc: "when that was decided"},
}
