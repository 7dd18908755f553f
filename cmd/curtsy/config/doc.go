// Package config is where the settings and seeds of a crawl come from, for people: flags, the environment, the file that --config
// names, the crawl's own and the user's, in this order. It knows what a mistyped key is near to.
package config
