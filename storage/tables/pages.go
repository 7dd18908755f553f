package tables

// Pages has a row for each archived answer. Its first columns are those of Common Crawl's columnar index in the flat
// form, in its order, with its types and nulls: queries for that index run on ours.
var Pages = Table{
	Name: "pages",
	Doc: "An archived response (a `response` or `revisit` record in the index), including robots.txt, sitemaps, redirects and " +
		"errors; `subset` distinguishes them",
	Key:     []string{"url_surtkey", "fetch_time"},
	Lookup:  []string{"url", "url_host_name"},
	Columns: joined(commonCrawl, pageSays, pageAsked, pageJudged, pagePaced, pageArchived),
}

// commonCrawl is cc-index-schema-flat.json of https://github.com/commoncrawl/cc-index-table, column by column.
var commonCrawl = []Column{
	{Name: "url_surtkey", Kind: String, Required: true, Doc: "sort key of the URL, as warcio writes it"},
	{Name: "url", Kind: String, Required: true, Doc: "the requested URL"},
	{Name: "url_host_name", Kind: String, Required: true, Few: true, Doc: "host name or IP address, IPv6 in brackets"},
	{Name: "url_host_tld", Kind: String, Few: true, Doc: "last part of the host name; null for an IP address, as in the next nine"},
	{Name: "url_host_2nd_last_part", Kind: String, Few: true, Doc: "last part but one"},
	{Name: "url_host_3rd_last_part", Kind: String, Few: true, Doc: "last part but two"},
	{Name: "url_host_4th_last_part", Kind: String, Few: true, Doc: "last part but three"},
	{Name: "url_host_5th_last_part", Kind: String, Few: true, Doc: "last part but four"},
	{Name: "url_host_registry_suffix", Kind: String, Few: true, Doc: "public suffix of a registry; null if the list has none"},
	{Name: "url_host_registered_domain", Kind: String, Few: true, Doc: "that with one more label"},
	{Name: "url_host_private_suffix", Kind: String, Few: true, Doc: "public suffix, including private ones (`github.io`)"},
	{Name: "url_host_private_domain", Kind: String, Few: true, Doc: "that with one more label"},
	{Name: "url_host_name_reversed", Kind: String, Few: true, Doc: "host name with its parts in reverse: `com.example.www`"},
	{Name: "url_protocol", Kind: String, Required: true, Few: true, Doc: "`http` or `https`"},
	{Name: "url_port", Kind: Int32, Few: true, Doc: "port, if the URL has one"},
	{Name: "url_path", Kind: String, Required: true, Doc: "path"},
	{Name: "url_query", Kind: String, Doc: "query without its question mark; null without one"},
	{Name: "fetch_time", Kind: Time, Required: true, Doc: "when it was requested, to the second; `began` is more precise"},
	{Name: "fetch_status", Kind: Int16, Required: true, Few: true, Doc: "HTTP status; -1 if the response header is unreadable"},
	{Name: "fetch_redirect", Kind: String, Doc: "target of a 3xx response, as an absolute URL"},
	{Name: "content_digest", Kind: String, Doc: "SHA-256 of the payload in hexadecimal digits; Common Crawl has SHA-1 in base32"},
	{Name: "content_mime_type", Kind: String, Few: true, Doc: "media type from the server, in lower case and without parameters"},
	{Name: "content_mime_detected", Kind: String, Few: true, Doc: "media type by the first 512 bytes of the body (WHATWG MIME Sniffing); the server's if they are inconclusive, null without a body"},
	{Name: "content_charset", Kind: String, Few: true, Doc: "charset of a page as IANA spells it, `UTF-8`"},
	{Name: "content_languages", Kind: String, Few: true, Doc: "languages of a page or plain text by ISO 639-3, the main one first, joined by commas; as in `text`, and null for robots.txt"},
	{Name: "content_truncated", Kind: String, Few: true, Doc: "why the record has less than the response: `length`, `time`, `disconnect`, `unspecified`"},
	{Name: "warc_filename", Kind: String, Required: true, Few: true, Doc: "WARC file, below the folder of the crawl directory"},
	{Name: "warc_record_offset", Kind: Int32, Required: true, Doc: "offset of the record's gzip member; -1 from 2 GiB on"},
	{Name: "warc_record_length", Kind: Int32, Required: true, Doc: "bytes of that member; -1 from 2 GiB on"},
	{Name: "warc_segment", Kind: String, Required: true, Few: true, Doc: "the WARC file without its folder and `.warc.gz`"},
	{Name: "crawl", Kind: String, Required: true, Few: true, Doc: "name of the crawl directory"},
	{Name: "subset", Kind: String, Required: true, Few: true, Doc: "`robotstxt`: requested as robots.txt · `warc`: any other 2xx response · `crawldiagnostics`: the rest"},
}

// pageSays is what the body says. It is null for what is no page (the language of plain text excepted), and for a revisit, whose body another record has.
var pageSays = []Column{
	{Name: "title", Kind: String, Doc: "text of the first title element, white space collapsed, at most 1 KiB"},
	{Name: "description", Kind: String, Doc: "content of the first meta element named description, white space collapsed, at most 2 KiB"},
	{Name: "canonical_link", Kind: String, Doc: "absolute URL of the first link element with rel=canonical"},
	{Name: "language", Kind: String, Few: true, Doc: "main language of a page or plain text by ISO 639-1, or 639-3 where that has none; null if unknown, and for robots.txt"},
	{Name: "charset", Kind: String, Few: true, Doc: "charset used to decode the page, as the Encoding Standard names it"},
	{Name: "charset_by", Kind: String, Few: true, Doc: "source of the charset: `bom`, `header`, `meta`, `guess`, `xml`"},
	{Name: "text_length", Kind: Int64, Doc: "bytes of the page's text in UTF-8, its words joined by single spaces"},
	{Name: "simhash", Kind: Int64, Doc: "Simhash of the text: 64 bits that differ little for similar texts; null for a page of few words"},
}

// pageAsked is why the URL was asked for, and what became of it, by the metadata record.
var pageAsked = []Column{
	{Name: "depth", Kind: Int32, Few: true, Doc: "links between the URL and its seed"},
	{Name: "via", Kind: String, Doc: "the page that links here, or the URL that redirected"},
	{Name: "kind", Kind: String, Few: true, Doc: "how it was found: `seed`, `link`, `embed`, `redirect`, `sitemap`, `map`, `script`"},
	{Name: "seed", Kind: String, Few: true, Doc: "the seed it descends from"},
	{Name: "tag", Kind: String, Few: true, Doc: "that seed's tag"},
	{Name: "attempt", Kind: Int32, Few: true, Doc: "1 for the first request of the URL in its generation"},
	{Name: "retry", Kind: Bool, Doc: "a repeated request"},
	{Name: "outcome", Kind: String, Few: true, Doc: "outcome of the URL, or `deferred`; null for robots.txt"},
	{Name: "reason", Kind: String, Few: true, Doc: "why, in the words of the ledger"},
	{Name: "change", Kind: String, Few: true, Doc: "in an update, how the URL changed since the previous generation"},
	{Name: "generation", Kind: Int64, Few: true, Doc: "1 for the crawl, one more with each update"},
	{Name: "own_host", Kind: Bool, Doc: "the host is the operator's own"},
	{Name: "directives", Kind: String, Few: true, Doc: "recognised directives of the response: `noindex`, `nofollow`, `noarchive`, `unavailable_after`"},
	{Name: "preferences", Kind: List, Doc: "usage preferences that apply to the response: `SOURCE NAME: VALUE`"},
}

// pageJudged is the verdict of robots.txt.
var pageJudged = []Column{
	{Name: "robots_verdict", Kind: String, Few: true, Doc: "`allow` if robots.txt allowed the URL, `robots` for robots.txt itself, else the decision of the ledger"},
	{Name: "robots_rule", Kind: String, Few: true, Doc: "the rule that decided, as written; null without one"},
	{Name: "robots_line", Kind: Int32, Doc: "its line, from 1"},
	{Name: "robots_group", Kind: String, Few: true, Doc: "the user-agent line of its group, as written"},
	{Name: "robots_sha256", Kind: String, Few: true, Doc: "digest of the robots.txt that decided, as in `robots`"},
	{Name: "robots_standard", Kind: String, Few: true, Doc: "the robots standard it was read by"},
}

// pagePaced is how long was waited, and how long it took.
var pagePaced = []Column{
	{Name: "pace_ms", Kind: Float64, Doc: "required delay before the request, in milliseconds"},
	{Name: "pace_by", Kind: String, Few: true, Doc: "its source"},
	{Name: "gap_ms", Kind: Float64, Doc: "from the end of the previous response of the authority to the start of this request, in milliseconds"},
	{Name: "rest_ms", Kind: Float64, Doc: "back-off that the response causes beyond the delay (`Retry-After`, errors), in milliseconds"},
	{Name: "rest_by", Kind: String, Few: true, Doc: "its source"},
	{Name: "began", Kind: Time, Doc: "when the first byte of the request was sent, to the microsecond"},
	{Name: "took_ms", Kind: Float64, Doc: "from then to the last byte of the response, in milliseconds"},
	{Name: "first_byte_ms", Kind: Float64, Doc: "from the end of the request to the first byte of the response, in milliseconds"},
}

// pageArchived is what the record is, and what is amiss with it.
var pageArchived = []Column{
	{Name: "record_id", Kind: String, Doc: "id of the record, without its angle brackets; `record` of `decisions`"},
	{Name: "revisit", Kind: Bool, Doc: "the record refers to another one with the same body"},
	{Name: "refers_to_url", Kind: String, Doc: "the URL of that one"},
	{Name: "refers_to_time", Kind: Time, Doc: "its date"},
	{Name: "problem", Kind: String, Few: true, Doc: "why values are missing: `no-file`, `damaged`, `other-record`, `no-metadata`, `bad-metadata`, `bad-coding`, `unparsed`, `cut`; null without a problem"},
}

func joined(parts ...[]Column) []Column {
	var all []Column
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}
