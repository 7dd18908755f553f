package dbfile

import (
	"errors"
	"strings"
	"testing"

	"curtsy/frontier"
)

func TestGuard_APanicOfBboltIsDamage(t *testing.T) {
	if err := Guard(func() error { panic("assertion failed: Page expected to be: 4") }); !errors.Is(err, frontier.ErrDamaged) ||
		!strings.Contains(err.Error(), "assertion failed") {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	if err := Guard(func() error { return boom }); err != boom {
		t.Fatal(err)
	}
}
