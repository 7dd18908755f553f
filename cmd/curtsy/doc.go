// Command curtsy is a polite concurrent web crawler.
//
// A family of commands is a file of this package, named after the command, with the files that help it. The commands that
// crawl are package crawlcmd; package cli is the contract that all of them keep, package config is where settings come from,
// package text is what people read. What a crawl does is in package crawler and below it, what a crawl directory is in
// crawler/crawldir.
//
// A setting has one name everywhere: the flag --max-pages is the environment variable CURTSY_MAX_PAGES and the key
// max-pages of a TOML file. The first of these that has it wins: flag, environment, the file named by --config or
// CURTSY_CONFIG, the user's own configuration file, the default. A crawl's own crawl.toml takes the place of the user's file
// when it is resumed.
//
// Standard output carries data only; people read standard error, where nothing from the web steers the terminal.
package main
