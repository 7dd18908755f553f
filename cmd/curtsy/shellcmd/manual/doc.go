// Package manual writes the manual pages of commands, in mdoc, the language of manuals by meaning (mandoc(1), groff_mdoc(7)):
// one page a command, of what its help says. The pages are a function of the commands, the version and the date.
//
// The generator of the command library writes man(7) by way of Markdown, with two libraries more, and mandoc -Tlint has
// much to say about its pages; about these it has nothing (a test asks it).
package manual
