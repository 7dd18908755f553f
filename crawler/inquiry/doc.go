// Package inquiry fetches robots.txt outside a crawl, with the identity, guards and delays of the user's crawls. It
// makes no records.
package inquiry
