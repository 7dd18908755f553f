// Package screen shows a crawl on a terminal: three lines beside a running crawl, or a whole screen of it. A value in, lines
// out; package terminal makes them as wide as the terminal is. What matters most stands first on each line, since narrow
// terminals cut its end.
package screen
