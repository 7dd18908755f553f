package main

import "curtsy/storage/plainly"

// oneLine makes a string from the web safe for a line of a terminal: what is not printable is escaped.
func oneLine(s string) string { return plainly.OneLine(s) }

// plain makes a string from the web safe for a terminal: what is not printable is escaped. New lines and tabs stay.
func plain(s string) string { return plainly.Lines(s) }
