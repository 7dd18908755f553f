package tables

// Robots has a row for each version of a host's robots.txt.
var Robots = Table{
	Name: "robots",
	Doc: "A version of a host's robots.txt: answers in a row with the same payload, or without rules and with the same " +
		"status. It holds from `valid_from` until the next version of the authority",
	Key: []string{"host_surtkey", "authority", "crawl", "valid_from"},
	Columns: []Column{
		{Name: "host_surtkey", Kind: String, Required: true, Doc: "sort key of the host's first page"},
		{Name: "authority", Kind: String, Required: true, Doc: "scheme, host and port that answered; after a redirect, the one that it led to"},
		{Name: "crawl", Kind: String, Required: true, Few: true, Doc: "name of the crawl directory"},
		{Name: "valid_from", Kind: Time, Required: true, Doc: "when it was first asked for"},
		{Name: "valid_to", Kind: Time, Doc: "when the next version was; null for the last one"},
		{Name: "last_seen", Kind: Time, Required: true, Doc: "when this one was last asked for"},
		{Name: "exchanges", Kind: Int64, Required: true, Doc: "answers that gave it, repeats and 304 among them"},
		{Name: "url", Kind: String, Required: true, Doc: "the URL that gave it"},
		{Name: "status", Kind: Int16, Required: true, Few: true, Doc: "HTTP status of the first answer; -1 where it cannot be read"},
		{Name: "redirect", Kind: String, Doc: "where an answer of 3xx leads"},
		{Name: "sha256", Kind: String, Doc: "digest of the body without its codings, as `robots_sha256` elsewhere; null without a body"},
		{Name: "octets", Kind: Int64, Doc: "bytes of the body, up to 2 MiB"},
		{Name: "groups", Kind: Int32, Doc: "groups of user-agent lines; null without a body, as in what follows"},
		{Name: "agents", Kind: List, Doc: "product tokens that they name, in lower case, each once and in order"},
		{Name: "rules", Kind: List, Doc: "rules, one line each: `AGENTS allow: PATH`, AGENTS joined by commas"},
		{Name: "delays", Kind: List, Doc: "what is asked of the pace: `AGENTS crawl-delay: VALUE`, `AGENTS request-rate: VALUE`"},
		{Name: "sitemaps", Kind: List, Doc: "sitemaps, as written"},
		{Name: "preferences", Kind: List, Doc: "usage preferences: `AGENTS content-signal: VALUE`, `AGENTS content-usage: VALUE`, `* license: VALUE`"},
		{Name: "warnings", Kind: Int32, Doc: "lines that do not do what their author may think"},
		{Name: "content", Kind: String, Doc: "the body as text, at most 512,000 bytes"},
		{Name: "warc_filename", Kind: String, Required: true, Few: true, Doc: "as in `pages`, of the first answer"},
		{Name: "warc_record_offset", Kind: Int64, Required: true, Doc: "where its record begins"},
		{Name: "problem", Kind: String, Few: true, Doc: "as in `pages`"},
	},
}

// Headers has a row for each field of each archived request and answer.
var Headers = Table{
	Name: "headers",
	Doc:  "A field of an archived request or answer. It is made only if asked for: fields tell of cookies and accounts",
	Key:  []string{"crawl", "warc_filename", "warc_record_offset", "position"},
	Columns: []Column{
		{Name: "crawl", Kind: String, Required: true, Few: true, Doc: "name of the crawl directory"},
		{Name: "warc_filename", Kind: String, Required: true, Few: true, Doc: "as in `pages`"},
		{Name: "warc_record_offset", Kind: Int64, Required: true, Doc: "where the record begins"},
		{Name: "position", Kind: Int32, Required: true, Doc: "place of the field in its head, from 1; 0 is the first line, which has no name"},
		{Name: "url", Kind: String, Required: true, Doc: "the URL that was asked for"},
		{Name: "began", Kind: Time, Doc: "when the exchange began"},
		{Name: "record_id", Kind: String, Doc: "id of the record"},
		{Name: "side", Kind: String, Required: true, Few: true, Doc: "`request` or `response`"},
		{Name: "name", Kind: String, Few: true, Doc: "the field's name, as written"},
		{Name: "value", Kind: String, Doc: "its value, white space around it removed; a line that goes on is joined by a space"},
	},
}
