package sink

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// Random long strings of chosen characters, which a fuzzer would rarely find.
func TestBoundsAreShortAndHold(t *testing.T) {
	long := strings.Repeat("x", boundLength-1)
	for _, s := range []string{"", "a", long, long + "x", long + "xy", long + "é", long + "\U0010ffff.", strings.Repeat("\U0010ffff", 99),
		long + "\ud7ff..", long + "\x7f..", "a" + strings.Repeat("\U0010ffff", 99)} {
		boundsHold(t, s)
	}
	runes := []rune{0, 'a', 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, utf8.MaxRune}
	for range 20_000 {
		var b strings.Builder
		few := 1 + rand.IntN(len(runes))
		for range rand.IntN(2 * boundLength) {
			b.WriteRune(runes[len(runes)-1-rand.IntN(few)])
		}
		boundsHold(t, b.String())
	}
}

func boundsHold(t *testing.T, s string) {
	t.Helper()
	least := atLeast([]byte(s))
	assert.Truef(t, len(least) <= boundLength && bytes.Compare(least, []byte(s)) <= 0 && utf8.Valid(least), "at least %q: %q", s, least)
	above, ok := atMost([]byte(s))
	assert.Falsef(t, ok && (len(above) > boundLength+1 || bytes.Compare(above, []byte(s)) < 0 || !utf8.Valid(above)), "at most %q: %q", s, above)
	assert.Falsef(t, !ok && !strings.HasPrefix(s, strings.Repeat("\U0010ffff", boundLength/4)), "no bound above %q", s)
}
