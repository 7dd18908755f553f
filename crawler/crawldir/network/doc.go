// Package network reads the settings that say which way a crawl goes out: its local address and the family of addresses.
// It makes no connection.
package network
