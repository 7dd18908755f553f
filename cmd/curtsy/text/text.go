package text

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"curtsy/storage/plainly"
)

// MaxShown bounds the lines of a list in a text for people; JSON has them all.
const MaxShown = 20

// Because lists reasons, the most frequent first, with their counts if there are several.
func Because(reasons map[string]int64) string { return counted(reasons, plainly.Reason) }

// itemized is Because of names that are no reasons and stay as they are: classes of status codes, media types, tags.
func itemized(of map[string]int64) string {
	return counted(of, func(name string) string { return name })
}

func counted(reasons map[string]int64, word func(string) string) string {
	if len(reasons) == 0 {
		return ""
	}
	names := make([]string, 0, len(reasons))
	for r := range reasons {
		names = append(names, r)
	}
	sort.Slice(names, func(i, j int) bool {
		if reasons[names[i]] != reasons[names[j]] {
			return reasons[names[i]] > reasons[names[j]]
		}
		return names[i] < names[j]
	})
	for i, r := range names {
		names[i] = plainly.OneLine(word(r))
		if len(reasons) > 1 {
			times := " "
			if name := names[i]; name != "" && '0' <= name[0] && name[0] <= '9' {
				times = " × " // 1 × 3 failures in a row
			}
			names[i] = strconv.FormatInt(reasons[r], 10) + times + names[i]
		}
	}
	if len(names) > 6 {
		names = append(names[:6], "…")
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// Entries counts those of a list.
func Entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// sum is how many there are in all.
func sum(reasons map[string]int64) (n int64) {
	for _, count := range reasons {
		n += count
	}
	return n
}

// Cell makes a string from the web fit for a cell of a table, and "-" of an empty one.
func Cell(s string) string {
	if s == "" {
		return "-"
	}
	return strings.NewReplacer("\t", `\t`, "\n", `\n`).Replace(plainly.Lines(s))
}
