package main

import (
	"bytes"
	"testing"
)

func TestARecordOnATerminalIsPlain(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if n, err := (plainWriter{&b}).Write([]byte("a\x1b[2J")); n != 5 || err != nil || b.String() != `a\x1b[2J` {
		t.Errorf("%q, %d, %v", b.String(), n, err)
	}
}
