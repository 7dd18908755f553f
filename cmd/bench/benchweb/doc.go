// Package benchweb is a web to measure crawlers on, where crawltest is one to try their manners on: as many hosts and
// pages as are asked for, served at next to no cost over addresses of loopback, and a referee that notes no more than
// it needs to say whether all pages were fetched, once, at the pace, with robots.txt first. A page of it may be
// hostile.
//
//	web, err := benchweb.Start(benchweb.Config{Pages: 5000, Seed: 1})
//	…crawl web.Seeds()…
//	report := web.Report() // and web.Reset() before the next crawler
//
// It hides how pages are put together from pieces made beforehand, how a path tells its page without a table, and the
// server, which is none of net/http's. It judges by what came over its connections alone.
package benchweb
