// Package inquiry fetches robots.txt outside a crawl, with the identity, guards and delays of the user's crawls. It
// records nothing.
package inquiry
