// Package exportcmd is curtsy export: tables out of crawl directories.
package exportcmd
