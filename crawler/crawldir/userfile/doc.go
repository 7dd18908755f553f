// Package userfile opens files named on a command line, and refuses to overwrite files that curtsy did not write.
//
// A name is typed in haste, and completed by a shell. So no option replaces a file that it has not made (Kind.Writable),
// and none reads from a device that never ends (Open, ReadAll, Readable). Pipes and terminals are read: they are how
// people hand over what stands in no file.
//
// The files of a crawl directory are not its business: frontier/durable opens those.
package userfile
