// Package script finds file names in scripts and JSON. Nothing is run, and nothing is known of what a script does with
// them.
//
// # What is a name
//
// A string or template literal whose whole text is a URL reference in printable ASCII, without white space, that ends,
// but for a query and a fragment, in a stem and one of the extensions that files of a site have (see extensions). A
// literal that something is put before, as in root + "/data/index.json" and `${root}/data/index.json`, is a name when it
// begins one: with a letter or digit, after one slash that is left out, since what stands before is mostly the way to a
// folder. The end of another name (base + "-min.js") is none.
//
// Names that a script puts together (section + "_" + n + ".js") are not found, nor are those without an extension. What
// is found may well be no file: a word of prose, a key, a file of another place.
//
// # What a name is relative to
//
// Scripts ask for files relative to the page that runs them (fetch, script elements) or to themselves (import, workers).
// Places has both. Which of them a name means is not known.
//
// # What it costs
//
// The first MaxRead bytes are read, by the lexer of github.com/tdewolff/parse, in one pass; no tree is built. At most
// MaxNames distinct names are given, of at most MaxLength bytes. A text that gives the lexer MaxErrors errors is not
// what it says, and is read no further: each costs the lexer a pass over the text. All three are said in Cut.
package script
