package scope

import "strings"

// maxPeriod is the longest cycle of path segments that is looked for.
const maxPeriod = 4

// segments returns the number of segments of a path. A slash at the end begins none.
func segments(path string) int {
	n := strings.Count(path, "/")
	if strings.HasSuffix(path, "/") {
		n--
	}
	return n
}

// encodings reports whether s has a percent sign that was encoded n times or more: "%" and n times "25".
func encodings(s string, n int) bool {
	for {
		_, rest, found := strings.Cut(s, "%25")
		if !found {
			return false
		}
		times := 1
		for strings.HasPrefix(rest, "25") {
			times, rest = times+1, rest[2:]
		}
		if times >= n {
			return true
		}
		s = rest
	}
}

// cycles reports whether the path has a run of segments that is n times the same cycle of so many segments, not
// all of them equal if there are several (such a run is a shorter cycle's). At least one segment of the cycle must
// count: tiles and dates repeat short segments and numbers, as in /0/0/0/0, and mean it.
//
// It reads the path once and remembers the last segments: n cycles are there when (n-1)·period segments in a row
// were equal to the one a period before.
func cycles(path string, period, n int) bool {
	var last [maxPeriod]string
	same := 0
	for i := 0; path != "" && path != "/"; i++ {
		segment := path[1:]
		end := strings.IndexByte(segment, '/')
		if end < 0 {
			end = len(segment)
		}
		segment, path = segment[:end], segment[end:]
		if i >= period && last[i%period] == segment {
			same++
		} else {
			same = 0
		}
		last[i%period] = segment
		if same >= (n-1)*period && telling(last[:period]) {
			return true
		}
	}
	return false
}

// telling reports whether a cycle has a segment that counts, and is not a shorter cycle of one segment.
func telling(cycle []string) bool {
	counts, varied := false, len(cycle) == 1
	for _, s := range cycle {
		counts = counts || len(s) > 2 && strings.Trim(s, "0123456789") != ""
		varied = varied || s != cycle[0]
	}
	return counts && varied
}
