// Package dashboard serves the live page of crawls: rates, waiting hosts, decisions, and forms for operators.
//
// One goroutine follows each Source, and keeps its states in bounded memory. Pages are rendered from that, each at most
// once a second, however many browsers are open. The crawl sends no data to the dashboard, so a stalled dashboard or
// browser cannot delay it.
//
// # Access
//
// The guard admits holders of the token, by the printed address, which sets a cookie that other sites cannot use. It refuses
// unknown host names (DNS rebinding) and requests from other sites' pages (CSRF). All crawled text is hostile: pages are
// html/template, their policy allows only the embedded script, and no page links to a crawled site.
//
// The package makes no decisions about a crawl: acts go through Source.Do, whose verbs can only raise politeness.
package dashboard
