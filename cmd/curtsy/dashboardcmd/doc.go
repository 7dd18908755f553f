// Package dashboardcmd is the live page of crawls: the command that shows directories, and the page beside a crawl of this
// process. What the page shows is package dashboard's; here are addresses, tokens and what people are told of them.
package dashboardcmd
