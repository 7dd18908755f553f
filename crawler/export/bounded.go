package export

import (
	"slices"
	"unicode/utf8"

	"curtsy/storage/tables"
)

// Bounds of a row. A format holds a value several times over, Parquet seven times, before it is in the file. No table
// made of a crawl comes near: what a page or a ledger of somebody else's can hold may.
const (
	maxValue = 2 << 20 // bytes of a string, or of all strings of a list: as many as a text has
	maxRow   = 8 << 20 // bytes of all values together
)

// ProblemCut says that a value is over 2 MiB, or a row over 8 MiB: what stands there is the beginning.
const ProblemCut = "cut"

// bounded is r with values that are not longer than they may be. r stays as it is.
func bounded(r tables.Row) (short tables.Row, cut bool) {
	room := maxRow
	for i, v := range r {
		if v.IsNull() {
			continue
		}
		most := min(maxValue, room)
		var size int
		switch v.Kind() {
		case tables.String:
			if size = len(v.Text()); size > most {
				v = tables.Text(beginning(v.Text(), most))
				size = len(v.Text())
			}
		case tables.List:
			var list []string
			if list, size = firstOf(v.List(), most); len(list) < len(v.List()) {
				v = tables.Texts(list)
			}
		}
		room -= size
		if size == sizeOf(r[i]) {
			continue
		}
		if !cut {
			r, cut = slices.Clone(r), true
		}
		r[i] = v
	}
	return r, cut
}

// beginning is as much of s, up to most bytes, as ends with a whole character.
func beginning(s string, most int) string {
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// firstOf is as much of a list as has at most so many bytes, and how many it has. A string is there whole or not at all.
func firstOf(list []string, most int) (first []string, size int) {
	for i, s := range list {
		if size+len(s)+perString > most {
			return slices.Clone(list[:i]), size
		}
		size += len(s) + perString
	}
	return list, size
}

// perString is what a string of a list costs beside its bytes: lists of empty strings are not free.
const perString = 8

func sizeOf(v tables.Value) int {
	size := len(v.Text())
	for _, s := range v.List() {
		size += len(s) + perString
	}
	return size
}
