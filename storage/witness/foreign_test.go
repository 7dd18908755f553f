package witness

import (
	"strings"
	"testing"

	"curtsy/storage/ledger/checkpoint"
)

// sumdb is a checkpoint of the checksum database of Go, as sum.golang.org signed it. Its origin is not the name of its
// key.
const sumdb = `go.sum database tree
35225469
vt5T6GaLCXvyHFl9VUvvItR43XZxfLgftEcTyO3eJCQ=

— sum.golang.org Az3grpukl5AXaVfYkLiDGORx/DN2nlcS5kZHR5uYOBV2KA2HgXpD+gu9HHONebHLAyaKbbTM75QTtPydhKCExixSfwQ=
`

// The log of somebody else, whose key has another name than its origin, is followed like ours.
func TestTheLogOfAnotherIsFollowed(t *testing.T) {
	origin, k, err := ParseLog("go.sum database tree=" + sumdbKey)
	if err != nil {
		t.Fatal(err)
	}
	var l Logs
	l.Follow(origin, k)
	w := opened(t, t.TempDir(), func() Logs { return l })
	r, err := ParseRequest([]byte("old 0\n\n" + sumdb))
	if err != nil {
		t.Fatal(err)
	}
	sig, err := w.Add(r)
	if err != nil {
		t.Fatal(err)
	}
	n, err := checkpoint.Parse(append([]byte(sumdb), sig.Line()...))
	if err != nil || len(Cosigners(n, []checkpoint.Key{w.Key()})) != 1 {
		t.Errorf("%v:\n%s", err, n.Marshal())
	}
	r.Note, err = checkpoint.Parse([]byte(strings.Replace(sumdb, "35225469", "35225470", 1)))
	if err != nil {
		t.Fatal(err)
	}
	r.Old = 35225469
	if _, err := w.Add(r); status(err) != 403 {
		t.Errorf("another size under the same signature: %v", err)
	}
}
