package warc

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/storage"
)

func TestFields_NamesUnreadable(t *testing.T) {
	for name, values := range map[string][]string{
		"depth": {"", "x", "1.5"}, "attempt": {"one"}, "ownHost": {"perhaps", ""},
		"fetchTimeMs": {"", "soon", "1h3", "1e3", "+1", ".5", "1.", "1.2345", "1.2x", "--1", "99999999999999999999", "315360000001"},
		"paceMs":      {" 1", "NaN"}, "asked": {strings.Repeat("x", storage.MaxText+1)},
	} {
		for _, v := range values {
			l := storage.Line{Depth: 7, Attempt: 7, Took: 7, Pace: 7, Asked: "as it was", Own: true}
			was := l
			err := SetField(&l, name, v)
			assert.Truef(t, err != nil && strings.Contains(err.Error(), name) && l == was, "%s: %.20q: %v, %+v", name, v, err, l)
			_, _, err = parseMetadata(strings.NewReader(name+":x"+v+"\r\n"), true)
			assert.Falsef(t, err == nil && name != "asked", "%s: x%.20q is read", name, v)
		}
	}
	var l storage.Line
	for v, want := range map[string]time.Duration{"0": 0, "1": time.Millisecond, "-1.5": -1500 * time.Microsecond, "12.003": 12003 * time.Microsecond, "315360000000": 10 * 365 * 24 * time.Hour} {
		err := SetField(&l, "fetchTimeMs", v)
		assert.Truef(t, err == nil && l.Took == want, "%q: %v, %v", v, l.Took, err)
	}
	assert.NoError(t, SetField(&l, "x-own", "?"), "a field that is not known")
}
