// Package crawlcmd implements the commands that crawl: crawl, resume, update, mirror and demo. What they do is package
// crawldir's; here are their flags, their signals, and what people hear of a run.
package crawlcmd
