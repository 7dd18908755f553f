// Package network reads the settings that say which way a crawl goes out: its local address and the family of addresses,
// a proxy, and what is sent to own hosts that ask who comes.
// It makes no connection.
package network
