package wacz

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What moves a record in front of others moves their lines of the index, and changes nothing else in them; a line for what
// was cut is gone.
func FuzzALineKeepsItsMeaningWhenItsRecordMoves(f *testing.F) {
	f.Add(`test,a)/ 20260504030201 {"url":"http://a.test/<&>","offset":"700","length":"10","filename":"a.warc.gz"}`)
	f.Add(`test,a)/ 20260504030201 {"offset":250,"length":"10","filename":"a.warc.gz","Offset":"1","n":1.50}`)
	f.Add(`test,a)/ 20260504030201 {"offset":"100","length":"50","filename":"a.warc.gz"}`)
	f.Add(`test,a)/ 20260504030201 {"offset":"100","offset":"1000","length":7,"filename":"a.warc.gz","x":{"offset":"5"}}`)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, line string) {
		seg := &segment{name: "a.warc.gz"}
		seg.leaveOut(100, 50)
		seg.leaveOut(300, 5)
		to := newSpool(dir)
		defer to.Close()
		x := indexer{to: to, by: map[string]*segment{seg.name: seg}}
		if x.line([]byte(line)) != nil {
			return
		}
		got, err := io.ReadAll(to.Section())
		require.NoError(t, err)
		parse := func(s string) (string, map[string]string) {
			head, object, _ := strings.Cut(s, " {")
			var e entry
			require.NoErrorf(t, json.Unmarshal([]byte("{"+object), &e), "%q", s)
			all := map[string]string{}
			for name, value := range e {
				var b bytes.Buffer
				require.NoError(t, json.Compact(&b, value))
				all[name] = b.String()
			}
			return head, all
		}
		head, was := parse(line)
		offset := strings.Trim(was["offset"], `"`)
		if len(got) == 0 {
			if offset != "100" && offset != "300" && strings.TrimLeft(offset, "0") != "100" && strings.TrimLeft(offset, "0") != "300" {
				t.Fatalf("%q is gone", line)
			}
			return
		}
		newHead, is := parse(strings.TrimSuffix(string(got), "\n"))
		before, after := entry{"offset": []byte(was["offset"])}, entry{"offset": []byte(is["offset"])}
		from, err := before.number("offset")
		require.NoError(t, err)
		want := from
		if from > 100 {
			want -= 50
		}
		if from > 300 {
			want -= 5
		}
		if now, err := after.number("offset"); err != nil || now != want {
			t.Fatalf("%q: offset %d, want %d", line, now, want)
		}
		if was["offset"][0] != is["offset"][0] && (was["offset"][0] == '"' || is["offset"][0] == '"') {
			t.Fatalf("%q: its offset was %s and is %s", line, was["offset"], is["offset"])
		}
		delete(was, "offset")
		delete(is, "offset")
		if newHead != head || !maps.Equal(was, is) {
			t.Fatalf("%q became %q", line, got)
		}
	})
}
