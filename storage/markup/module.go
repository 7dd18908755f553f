package markup

import (
	"strings"

	"curtsy/storage/charset"
	"curtsy/storage/script"
)

// Module rewrites what a script imports, if it is a module: static imports, and exports from others.
func Module(in []byte, o Options, visit Visit) ([]byte, error) {
	c, ok := charset.Marked(in)
	if !ok {
		c = plainUTF8 // HTML Standard 8.1.4.2
	}
	return rewrite(in, o, visit, coding{c, true}, nil, func(w *work, text string, to sink) error {
		d := doc{work: w, base: o.URL}
		d.imports(text, Ref{}, to)
		return nil
	})
}

// FindModule calls found with the references in a script, as Module would.
func FindModule(in []byte, o Options, found func(Ref)) error { return find(Module, in, o, found) }

// imports hands on the edits of a module, whose references are otherwise as r.
func (d *doc) imports(text string, r Ref, to sink) {
	r.Attr, r.Role = "import", Script
	script.Imports([]byte(text), func(start, end int, url string) {
		r.Raw = url
		if new, replace := d.ask(r); replace {
			if isLocal(new) && !strings.HasPrefix(new, ".") && !strings.HasPrefix(new, "/") && !strings.HasPrefix(new, "data:") {
				new = "./" + new // else it is the name of a package
			}
			to(edit{start, end, jsonString(new)})
		}
	})
}

// isModule reports whether the type of a script element makes it a module (HTML Standard 4.12.1).
func isModule(kind string) bool { return strings.EqualFold(strip(kind), "module") }
