package sink

import (
	"fmt"
	"strings"
)

// Format is a way to write tables as files.
type Format string

// Formats of files.
const (
	Parquet Format = "parquet"
	CSV     Format = "csv"
	JSONL   Format = "jsonl"
	SQLite  Format = "sqlite"

	// WET is that of Common Crawl's texts. The table text alone can be written so.
	WET Format = "wet"
)

// Formats are all in which any table can be written, the default first.
func Formats() []Format { return []Format{Parquet, CSV, JSONL, SQLite} }

// Parse reads the word of a format.
func Parse(word string) (Format, error) {
	var words []string
	for _, f := range append(Formats(), WET) {
		if string(f) == word {
			return f, nil
		}
		words = append(words, string(f))
	}
	return "", fmt.Errorf("sink: %q is not a format of tables: %s", word, strings.Join(words, ", "))
}

// Ext ends the name of a file of the format, with its dot.
func (f Format) Ext() string {
	if f == WET {
		return wetExt
	}
	return "." + string(f)
}
