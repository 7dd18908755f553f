package cdxj

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

// The log of originals loses the answers that are gone, and no other line; a store that opens it knows the others.
func TestDroppedOriginalsAreUnknown(t *testing.T) {
	dir := t.TempDir()
	index := filepath.Join(dir, indexDir)
	if err := DropOriginals(index, func(string) bool { return true }); err != nil { // there is none
		t.Fatal(err)
	}
	require.NoError(t, os.MkdirAll(index, 0o777))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, warcDir), 0o777))
	l, err := openLog(filepath.Join(index, logName), func(original, int64) {})
	require.NoError(t, err)
	line := func(i int) original {
		return original{Payload: [32]byte{byte(i)}, File: "a-00000.warc.gz", Offset: int64(i),
			Original: storage.Original{URL: fmt.Sprintf("http://a.test/%d", i), Date: time.Unix(int64(i), 0), ID: fmt.Sprintf("urn:%d", i)}}
	}
	var want []byte
	for i := range 6 {
		o := line(i)
		if _, err := l.add(&o); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			want = o.append(want)
		}
	}
	cut := original{Cut: true, File: "a-00000.warc.gz", Offset: 5}
	if _, err := l.add(&cut); err != nil {
		t.Fatal(err)
	}
	want = cut.append(want)
	require.NoError(t, l.f.Close())
	odd := func(id string) bool { return (id[len(id)-1]-'0')%2 == 1 }
	for range 2 {
		require.NoError(t, DropOriginals(index, odd))
		if got, err := os.ReadFile(filepath.Join(index, logName)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}
