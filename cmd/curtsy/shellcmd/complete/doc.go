// Package complete says what may stand next on a command line, for the completion of shells.
//
// It reads that from the commands themselves: an argument that a usage line calls DIR is a crawl directory, a flag that
// takes a HOST is completed with the hosts of the crawl that stands before it, and a flag with words (cli.Words) with
// these. A command that is added is completed without a line here.
//
// Somebody waits for each answer. It is bounded in time and in number, reads only, asks nothing of the network but the
// running crawl on this machine, and is silent when something fails: the shell then offers files, or nothing.
package complete
