// Package htmlpage has the head and the style sheet of the dashboard and of all pages that curtsy writes for its users.
// Pages for publication (package policypage) have their own.
package htmlpage

import (
	_ "embed"
	"html/template"
)

//go:embed style.css
var style string

//go:embed head.html
var head string

// Style returns the style sheet.
func Style() string { return style }

// Mark returns the element that is in the first 200 bytes of a generator's pages.
func Mark(generator string) string { return `<meta name="generator" content="` + generator + `">` }

// Document describes a page to the template "head".
type Document struct {
	Title string
	// Generator is the command that writes the page; "" for a page of the dashboard, which has the style sheet as a file.
	Generator string
	// Scripts are the digests of the scripts that the page may run, as in "sha256-…" (CSP 3).
	Scripts []string
}

// Style returns the style sheet for the page.
func (Document) Style() template.CSS { return template.CSS(style) }

// New returns a template with the template "head", to parse pages with. A page begins with
// {{template "head" (document GENERATOR TITLE SCRIPT…)}}, further elements of the head if any, and </head>.
func New(funcs template.FuncMap) *template.Template {
	document := func(generator, title string, scripts ...string) Document { return Document{title, generator, scripts} }
	return template.Must(template.New("").Funcs(template.FuncMap{"document": document}).Parse(head)).Funcs(funcs)
}
