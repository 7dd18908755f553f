package evidence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A text that left memory is read again from the temporary file, and is judged by as before.
func TestTextsComeBack(t *testing.T) {
	x, err := NewStore(t.TempDir())
	require.NoError(t, err)
	defer x.Close()
	var at []Text
	bodies := make([]string, 60)
	for i := range bodies {
		bodies[i] = "User-agent: *\n" + strings.Repeat(fmt.Sprintf("Disallow: /%d\n", i), 3500) + fmt.Sprintf("Disallow: /last%d\n", i)
		p, err := x.Put([]byte(bodies[i]))
		require.NoError(t, err)
		at = append(at, p)
	}
	for range 2 {
		for i, p := range at {
			r, err := x.reading(p, "Lantern", "rfc9309")
			require.NoError(t, err)
			target := fmt.Sprintf("/last%d", i)
			if ok, line := r.rules.Allowed(target); ok || line != 3502 {
				t.Fatalf("text %d: %v by line %d, want false by line 3502", i, ok, line)
			}
		}
		if x.size > maxReadings || x.used.Len() == len(at) || x.used.Len() != len(x.by) {
			t.Fatalf("%d readings of %d octets are in memory", x.used.Len(), x.size)
		}
	}
	assert.Equal(t, "Disallow: /last3", x.Line(at[3], 3502), "line 3502")
}
