package tables

// Reading has a row for each archived document with a text.
var Reading = Table{
	Name: "text",
	Doc: "The text of an archived page or plain text with a 2xx response, also if it is empty. A revisit has no row; its original " +
		"has one, with the same `content_digest`",
	Key:     []string{"url_surtkey", "fetch_time"},
	Lookup:  []string{"url"},
	Columns: joined(readingOf, readingIn, readingText, readingArchived),
}

var readingOf = []Column{
	{Name: "url_surtkey", Kind: String, Required: true, Doc: "sort key of the URL, as in `pages`"},
	{Name: "url", Kind: String, Required: true, Doc: "the requested URL"},
	{Name: "fetch_time", Kind: Time, Required: true, Doc: "when it was requested, to the second, as in `pages`"},
	{Name: "crawl", Kind: String, Required: true, Few: true, Doc: "name of the crawl directory"},
	{Name: "content_digest", Kind: String, Doc: "SHA-256 of the payload, as in `pages`"},
	{Name: "content_mime_type", Kind: String, Few: true, Doc: "media type from the server"},
	{Name: "charset", Kind: String, Few: true, Doc: "charset used to decode it, as the Encoding Standard names it"},
}

var readingIn = []Column{
	{Name: "language", Kind: String, Few: true, Doc: "main language of the whole text by ISO 639-1, or 639-3 where that has none; null if unknown"},
	{Name: "content_languages", Kind: String, Few: true, Doc: "all languages by ISO 639-3, at most three, the main one first, joined by commas"},
	{Name: "language_reliable", Kind: Bool, Required: true, Doc: "the first is usually right; docs/guides/export.md has the accuracy"},
	{Name: "language_share", Kind: Float64, Doc: "share of the examined text in the first language, from 0 to 1"},
	{Name: "language_declared", Kind: String, Few: true, Doc: "the language that the page or its server declares, a tag of BCP 47; null without one"},
	{Name: "language_declared_by", Kind: String, Few: true, Doc: "where: `html` (lang of its html element), `meta` (content-language), `header` (Content-Language)"},
}

var readingText = []Column{
	{Name: "text", Kind: String, Doc: "the whole text: a block is a line, white space is one space, at most 2 MiB; null if it is empty"},
	{Name: "text_octets", Kind: Int64, Required: true, Doc: "its bytes in UTF-8"},
	{Name: "text_cut", Kind: String, Few: true, Doc: "why it is incomplete: `over 10 MiB`, `over 2 MiB of text`, `over 131072 attributes`; null if it is"},
	{Name: "main_text", Kind: String, Doc: "the text without menus, frames and notices; null without one"},
	{Name: "main_octets", Kind: Int64, Required: true, Doc: "its bytes in UTF-8"},
	{Name: "main_share", Kind: Float64, Doc: "share of the whole text in the main text, from 0 to 1, without links and menus (docs/guides/export.md); null without a main text"},
	{Name: "main_missing", Kind: String, Few: true, Doc: "why there is no main text: `no text`, `not a page` (of plain text), `no main text found`, `512 open elements`, `over 20000 elements`, `over 1 MiB of text`, `the extractor failed`; `less than three quarters of the text` if much is missing (`main_share` below 0.75); else null"},
}

var readingArchived = []Column{
	{Name: "warc_record_id", Kind: String, Doc: "id of the archived record, a URN"},
	{Name: "warc_filename", Kind: String, Required: true, Few: true, Doc: "WARC file, below the folder of the crawl directory"},
	{Name: "warc_record_offset", Kind: Int64, Required: true, Doc: "offset of the record's gzip member"},
	{Name: "warc_record_length", Kind: Int64, Required: true, Doc: "bytes of that member"},
	{Name: "problem", Kind: String, Few: true, Doc: "as in `pages`"},
}
