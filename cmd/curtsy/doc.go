// Command curtsy is a polite concurrent web crawler.
//
// This package is wiring: flags, configuration, the crawl directory, signals, exit codes and printing. What a crawl
// does is in package crawler and below it.
//
// A setting has one name everywhere: the flag --max-pages is the environment variable CURTSY_MAX_PAGES and the key
// max-pages of a TOML file. The first of these that has it wins: flag, environment, the file named by --config or
// CURTSY_CONFIG, the user's own configuration file, the default (settings.go, options.go, layers.go). A crawl's own
// crawl.toml takes the place of the user's file when it is resumed.
//
// A crawl directory is made in one step (create.go), opened by one process at a time (dir.go), and lived in by a run
// (run.go, attend.go). What is missing or damaged in it is said and never made anew.
//
// Standard output carries data only; people read standard error (voice.go, text.go), where nothing from the web
// steers the terminal (plain.go). The exit codes are in exit.go.
package main
