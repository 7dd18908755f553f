package window

import "strings"

// short are clocks that people name by letters which are no zone, or not one that changes with the seasons as they mean it.
var short = map[string]string{
	"cest": "Europe/Berlin", "mez": "Europe/Berlin", "mesz": "Europe/Berlin", "bst": "Europe/London", "gmt+1": "Europe/Berlin",
	"edt": "America/New_York", "cst": "America/Chicago", "cdt": "America/Chicago", "mdt": "America/Denver",
	"pst": "America/Los_Angeles", "pdt": "America/Los_Angeles", "jst": "Asia/Tokyo", "ist": "Asia/Kolkata", "aest": "Australia/Sydney",
}

// nearest is the zone that a name was meant to be; empty if none is near. The area may be missing.
func nearest(name string) string {
	name = strings.ToLower(strings.ReplaceAll(name, " ", "_"))
	if z := short[name]; z != "" {
		return z
	}
	best, least := "", len(name)/4+1
	for area, cities := range places {
		for city := range strings.FieldsSeq(cities) {
			whole := area + "/" + city
			d := min(differ(name, strings.ToLower(whole)), differ(name, strings.ToLower(city)))
			if i := strings.LastIndexByte(city, '/'); i >= 0 {
				d = min(d, differ(name, strings.ToLower(city[i+1:])))
			}
			if d < least || d == least && best != "" && whole < best {
				best, least = whole, d
			}
		}
	}
	return best
}

// differ is how many letters to insert, delete or replace.
func differ(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := left
			if a[i] != b[j] {
				cost++
			}
			left, row[j+1] = row[j+1], min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
