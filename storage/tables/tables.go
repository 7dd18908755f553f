package tables

import (
	_ "embed"
	"slices"
	"strings"

	"curtsy/storage"
)

//go:embed tables.txt
var text string

// The tables that a crawl can be exported to, and those of a graph of links. They are not to be changed.
var (
	Pages      = named("pages")      // a row for each archived answer
	Hosts      = named("hosts")      // for each authority of a crawl
	Robots     = named("robots")     // for each version of a host's robots.txt
	Decisions  = ledgerLines()       // for each line of the ledger
	Errors     = named("errors")     // for each way in which exchanges with a host failed
	Headers    = named("headers")    // for each field of each archived request and answer
	Reading    = named("text")       // for each archived document with a text
	Links      = named("links")      // for each mention of a URL in an archived document
	Duplicates = named("duplicates") // for each page that says the same as another one, or nearly the same
	Vertices   = named("vertices")   // for each vertex of a graph
	Edges      = named("edges")      // for each of its edges
)

// All are the tables that a crawl can be exported to, in the order of docs/reference/tables.md.
func All() []*Table {
	return []*Table{&Pages, &Hosts, &Robots, &Decisions, &Errors, &Headers, &Reading, &Links, &Duplicates}
}

// named reads a table of the text.
func named(name string) Table {
	t := Table{Name: name}
	_, part, _ := strings.Cut(text, "\n== "+name+"\n")
	for line := range strings.Lines(part) {
		line = strings.TrimSuffix(line, "\n")
		first, rest, _ := strings.Cut(line, " ")
		switch {
		case first == "#":
		case line == "":
			return t
		case t.Doc == "":
			t.Doc = line
		case first == "key":
			t.Key = strings.Fields(rest)
		case first == "lookup":
			t.Lookup = strings.Fields(rest)
		default:
			kind, doc, _ := strings.Cut(rest, " ")
			c := Column{Name: first, Doc: doc, Required: strings.Contains(kind, "!"), Few: strings.HasSuffix(kind, "*")}
			c.Kind = Kind(slices.Index(kindNames[:], strings.Replace(strings.TrimRight(kind, "!*"), "list", "list of string", 1)))
			t.Columns = append(t.Columns, c)
		}
	}
	return t
}

// ledgerLines is the table of decisions, whose further columns follow from the schema of the ledger.
func ledgerLines() Table {
	t := named("decisions")
	t.Columns = append(t.Columns, fieldColumns()...)
	return t
}

// fieldColumns are the fields of a line, in the ledger's order and by its names.
func fieldColumns() []Column {
	var all []Column
	for _, f := range storage.Fields() {
		all = append(all, Column{Name: f.JSON, Kind: KindOf(&f), Few: few[f.JSON], Doc: f.Meaning})
	}
	return all
}

// KindOf is the kind of a column with the values of a field of the ledger.
func KindOf(f *storage.Field) Kind {
	switch kind := f.Kind(); {
	case f.JSON == "time", f.JSON == "began":
		return Time
	case strings.HasSuffix(f.JSON, "_ms"):
		return Float64
	case kind == "number":
		return Int64
	case kind == "boolean":
		return Bool
	case kind == "array":
		return List
	}
	return String
}

// few are the fields with few distinct values.
var few = map[string]bool{
	"kind": true, "depth": true, "decision": true, "reason": true, "rule": true, "group": true, "runner_up": true,
	"robots_sha256": true, "robots_record": true, "standard": true, "pace_by": true, "attempt": true, "address": true,
	"outcome": true, "status": true, "type": true, "truncated": true, "rest_by": true, "change": true,
	"list_sha256": true, "directives": true, "seed": true, "tag": true,
}
