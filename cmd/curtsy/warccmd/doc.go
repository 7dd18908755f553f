// Package warccmd is curtsy warc: it lists, prints, checks and indexes the records of web archives, of any crawler.
package warccmd
