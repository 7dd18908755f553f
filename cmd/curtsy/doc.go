// Command curtsy is a polite concurrent web crawler.
//
// A family of commands is a file of this package, named after the command. Package crawlcmd has the commands that crawl, cli
// the parts that all share, config the settings, text the output for people. Package crawler and those below it crawl;
// crawler/crawldir is the crawl directory.
//
// A setting has one name everywhere: the flag --max-pages is the environment variable CURTSY_MAX_PAGES and the key
// max-pages of a TOML file. The first of these wins: flag, environment, the file of --config or CURTSY_CONFIG, the user's
// configuration file, the default. A resumed crawl reads its own crawl.toml instead of the user's file.
//
// Standard output has only data; standard error is for people, and nothing from the web steers the terminal.
package main
