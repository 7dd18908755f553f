package tables

import (
	"strings"

	"curtsy/storage"
)

// Decisions has a row for each line of the ledger. Its columns follow from the ledger's schema: the table of fields in
// package storage.
var Decisions = Table{
	Name:    "decisions",
	Doc:     "A ledger line: a decision, or another kind that `line_kind` names",
	Key:     []string{"crawl", "entry"},
	Lookup:  []string{"url"},
	Columns: append(lineColumns, fieldColumns()...),
}

var lineColumns = []Column{
	{Name: "crawl", Kind: String, Required: true, Few: true, Doc: "name of the crawl directory"},
	{Name: "entry", Kind: Int64, Required: true, Doc: "index of the line in the ledger, from 0"},
	{Name: "line_kind", Kind: String, Required: true, Few: true, Doc: "`decision` · `mark`: of a run, a file, a checkpoint · `redacted`: the line was removed, and all else is null · `unreadable`"},
	{Name: "generation", Kind: Int64, Few: true, Doc: "1 for the crawl, one more with each update; null if unknown"},
	{Name: "mark", Kind: String, Doc: "the line as JSON, if it is a mark"},
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
