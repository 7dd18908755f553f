package dbfile

import (
	"errors"
	"strings"
	"testing"

	"curtsy/frontier"

	"github.com/stretchr/testify/require"
)

func TestGuard_BboltPanicIsDamage(t *testing.T) {
	if err := Guard(func() error { panic("assertion failed: Page expected to be: 4") }); !errors.Is(err, frontier.ErrDamaged) ||
		!strings.Contains(err.Error(), "assertion failed") {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err := Guard(func() error { return boom })
	require.True(t, err == boom, err)
}
