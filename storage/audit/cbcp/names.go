package cbcp

import (
	"slices"
	"strings"

	"curtsy/storage/audit/measure"
	"curtsy/storage/audit/weburl"
)

// common are names of libraries and tools: without an address beside them, a User-Agent with one could be anybody's.
var common = strings.Fields(`aiohttp apache-httpclient axios colly curl dart deno go-http-client guzzlehttp heritrix
	http_request2 httpx java lavf libwww-perl lwp node node-fetch nutch okhttp php postmanruntime puppeteer python
	python-httpx python-requests python-urllib reqwest ruby scrapy undici urllib wget winhttp`)

// taken are names of well-known crawlers and the domains of their pages: nobody else may use them.
var taken = map[string]string{
	"ahrefsbot": "ahrefs.com", "amazonbot": "amazon.com", "applebot": "apple.com", "archive_org_bot": "archive.org",
	"baiduspider": "baidu.com", "bingbot": "bing.com", "bytespider": "bytedance.com", "ccbot": "commoncrawl.org",
	"claudebot": "anthropic.com", "duckduckbot": "duckduckgo.com", "facebookexternalhit": "facebook.com",
	"googlebot": "google.com", "gptbot": "openai.com", "mojeekbot": "mojeek.com", "petalbot": "aspiegel.com",
	"perplexitybot": "perplexity.ai", "semrushbot": "semrush.com", "yandexbot": "yandex.com",
}

// tokenOf is the crawler's name in a User-Agent, "" for a browser's.
func tokenOf(agent string) string { return measure.TokenOf(agent) }

// urlIn is the first http or https URL in a User-Agent, or "".
func urlIn(agent string) string {
	low := strings.ToLower(agent)
	i := strings.Index(low, "http://")
	if j := strings.Index(low, "https://"); i < 0 || j >= 0 && j < i {
		i = j
	}
	if i < 0 {
		return ""
	}
	url := agent[i:]
	if end := strings.IndexAny(url, " ;,)>\"'"); end >= 0 {
		url = url[:end]
	}
	return url
}

// anonymous says why a User-Agent's identifiers may be those of another crawler, or "".
func anonymous(agent string) string {
	token := tokenOf(agent)
	owner, known := taken[strings.ToLower(token)]
	switch {
	case token == "":
		return "it has no product token of a crawler"
	case known && !of(urlIn(agent), owner):
		return token + " is the name of another crawler, that of " + owner
	case slices.Contains(common, strings.ToLower(token)) && urlIn(agent) == "" && !strings.Contains(agent, "@"):
		return token + " is a library or tool of many, and no address stands beside it"
	}
	return ""
}

// of reports whether a URL's host is a domain, or below it.
func of(url, domain string) bool {
	u, err := weburl.Parse(url)
	if err != nil {
		return false
	}
	host, _ := weburl.HostPort(u.Authority)
	return host == domain || strings.HasSuffix(host, "."+domain)
}
