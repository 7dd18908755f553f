package tables

// Robots has a row for each version of a host's robots.txt.
var Robots = Table{
	Name: "robots",
	Doc: "A version of a host's robots.txt: consecutive responses with the same payload, or without rules and with the same " +
		"status. It holds from `valid_from` until the next version of the authority",
	Key: []string{"host_surtkey", "authority", "crawl", "valid_from"},
	Columns: []Column{
		{Name: "host_surtkey", Kind: String, Required: true, Doc: "sort key of the host's first page"},
		{Name: "authority", Kind: String, Required: true, Doc: "scheme, host and port that responded; after a redirect, its target"},
		{Name: "crawl", Kind: String, Required: true, Few: true, Doc: "name of the crawl directory"},
		{Name: "valid_from", Kind: Time, Required: true, Doc: "when it was first requested"},
		{Name: "valid_to", Kind: Time, Doc: "when the next version was first requested; null for the last one"},
		{Name: "last_seen", Kind: Time, Required: true, Doc: "when this version was last requested"},
		{Name: "exchanges", Kind: Int64, Required: true, Doc: "responses with it, including repeats and 304"},
		{Name: "url", Kind: String, Required: true, Doc: "its URL"},
		{Name: "status", Kind: Int16, Required: true, Few: true, Doc: "HTTP status of the first response; -1 if unreadable"},
		{Name: "redirect", Kind: String, Doc: "target of a 3xx response"},
		{Name: "sha256", Kind: String, Doc: "digest of the decoded body, as `robots_sha256` elsewhere; null without a body"},
		{Name: "octets", Kind: Int64, Doc: "bytes of the body, up to 2 MiB"},
		{Name: "groups", Kind: Int32, Doc: "groups of user-agent lines; null without a body, as in the next columns"},
		{Name: "agents", Kind: List, Doc: "their product tokens, in lower case, each once and in order"},
		{Name: "rules", Kind: List, Doc: "rules, one line each: `AGENTS allow: PATH`, AGENTS joined by commas"},
		{Name: "delays", Kind: List, Doc: "delay rules: `AGENTS crawl-delay: VALUE`, `AGENTS request-rate: VALUE`"},
		{Name: "sitemaps", Kind: List, Doc: "sitemaps, as written"},
		{Name: "preferences", Kind: List, Doc: "usage preferences: `AGENTS content-signal: VALUE`, `AGENTS content-usage: VALUE`, `* license: VALUE`"},
		{Name: "warnings", Kind: Int32, Doc: "lines with lint findings"},
		{Name: "content", Kind: String, Doc: "the body as text, at most 512,000 bytes"},
		{Name: "warc_filename", Kind: String, Required: true, Few: true, Doc: "as in `pages`, of the first response"},
		{Name: "warc_record_offset", Kind: Int64, Required: true, Doc: "offset of its record"},
		{Name: "problem", Kind: String, Few: true, Doc: "as in `pages`"},
	},
}

// Headers has a row for each field of each archived request and answer.
var Headers = Table{
	Name: "headers",
	Doc:  "A field of an archived request or response. Written only with --headers, since fields may contain cookies and account names",
	Key:  []string{"crawl", "warc_filename", "warc_record_offset", "position"},
	Columns: []Column{
		{Name: "crawl", Kind: String, Required: true, Few: true, Doc: "name of the crawl directory"},
		{Name: "warc_filename", Kind: String, Required: true, Few: true, Doc: "as in `pages`"},
		{Name: "warc_record_offset", Kind: Int64, Required: true, Doc: "offset of the record"},
		{Name: "position", Kind: Int32, Required: true, Doc: "place of the field in its head, from 1; 0 is the first line, which has no name"},
		{Name: "url", Kind: String, Required: true, Doc: "the requested URL"},
		{Name: "began", Kind: Time, Doc: "when the request was sent"},
		{Name: "record_id", Kind: String, Doc: "id of the record"},
		{Name: "side", Kind: String, Required: true, Few: true, Doc: "`request` or `response`"},
		{Name: "name", Kind: String, Few: true, Doc: "the field's name, as written"},
		{Name: "value", Kind: String, Doc: "its value, without surrounding white space; continuation lines are joined by a space"},
	},
}
