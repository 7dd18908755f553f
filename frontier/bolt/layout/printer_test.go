package layout

import (
	"fmt"
	"testing"

	"curtsy/frontier"

	"github.com/stretchr/testify/require"
)

func TestPrinter_EqualsPrint(t *testing.T) {
	secret := []byte("a secret of this test, 32 octets")
	p := NewPrinter(secret)
	for i := range 100 {
		u := mustURL(t, fmt.Sprintf("https://www.site-%d.example/a/%%7Eb?c=%d", i%7, i))
		got, want := p.Print(u), frontier.Print(secret, u)
		require.Truef(t, got == want, "%s: %x, want %x", u, got, want)
	}
}
