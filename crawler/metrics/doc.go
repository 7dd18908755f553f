// Package metrics says how crawls are to Prometheus: it is what answers /metrics of a dashboard.
//
// Nothing is counted here, and nothing in a crawl knows of it. A scrape reads what the dashboard has seen within the last
// second, so that it costs a crawl nothing that the dashboard does not cost, however often it comes. All metrics stand in
// one table, All, from which docs/reference/metrics.md is written.
//
// Series are bounded: no label has a host, a URL or anything else that was crawled, and of the words that a label can have
// the first fifty that were met are told apart; the rest are counted as "others".
package metrics
