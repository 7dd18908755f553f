package timestamp

import (
	"bytes"
	"errors"
	"testing"

	"curtsy/storage/witness/timestamp/tsatest"
)

// Whatever the octets are, reading them ends, and none but the authority's own are taken.
func FuzzCheck(f *testing.F) {
	a := tsatest.New(f)
	tsr := a.Stamp(text)
	f.Add(tsr)
	f.Add(tsr[:len(tsr)/2])
	f.Add([]byte{0x30, 0x80, 0, 0})
	f.Add([]byte{0x30, 0x84, 0xff, 0xff, 0xff, 0xff})
	a.Change = func(p *tsatest.Parts) { p.Status = 2 }
	f.Add(a.Stamp(text))
	f.Fuzz(func(t *testing.T, b []byte) {
		if at, _, err := Check(b, text, a.Roots); err == nil && at.IsZero() {
			t.Error("taken without a time")
		}
		if _, _, err := Check(b, []byte("another text"), a.Roots); err == nil || errors.Is(err, ErrUntrusted) {
			t.Error("taken for a text that nobody stamped")
		}
		if all, err := Split(b); err == nil && !bytes.Equal(bytes.Join(all, nil), b) {
			t.Error("a file is more than its answers")
		}
	})
}
