// Package crawldir is the crawl directory: what is in it, how it comes to be, and the settings of the crawl that it holds.
//
// Settings are all that a crawl can be told. Defaults has the values that hold where nobody says otherwise; ReadSettings
// reads those of a directory, which keeps them as TOML under ConfigName. Names of settings are the keys of such files and
// the long flags of the program, and errors name them as flags: --ip-delay.
//
// The package prints nothing. A Misuse is an error in what it was asked for: a setting, a seed or a directory that has to
// be another. Its text says what, where and what to do.
package crawldir
