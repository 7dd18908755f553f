package main

import (
	"fmt"

	"curtsy/storage/plainly"
)

// oneLine makes a string from the web safe for a line of a terminal: what is not printable is escaped.
func oneLine(s string) string { return plainly.OneLine(s) }

// plain makes a string from the web safe for a terminal: what is not printable is escaped. New lines and tabs stay.
func plain(s string) string { return plainly.Lines(s) }

// formatSize writes bytes exactly where a unit allows it.
func formatSize(n int64) string { return plainly.Size(n) }

// roughSize writes bytes for people.
func roughSize(n int64) string {
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if f := int64(1) << (40 - 10*i); n >= f {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(f), unit)
		}
	}
	return fmt.Sprintf("%d B", n)
}
