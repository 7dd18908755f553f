package warc

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

func TestMetadataOfManyValuesIsReadInLinearTime(t *testing.T) {
	for _, name := range []string{"asked", "prefs"} {
		block := strings.Repeat(name+":x\n", 20_000)
		var l storage.Line
		if n := allocation(func() {
			var err error
			l, _, err = parseMetadata(strings.NewReader(block), true)
			assert.Errorf(t, err, "%s: no error over %d values", name, 20_000)
		}); n > 40*uint64(len(block)) {
			t.Errorf("%s: allocated %d octets for %d", name, n, len(block))
		}
		got := strings.Count(l.Asked+l.Prefs, "x")
		assert.Truef(t, got == storage.MaxLines, "%s: %d values, want %d", name, got, storage.MaxLines)
	}
}

func TestMetadataOfManyLinksIsReadInBoundedMemory(t *testing.T) {
	_, links, err := parseMetadata(strings.NewReader(strings.Repeat("outlink:x\n", 2*MaxOutlinks)), true)
	require.NoError(t, err)
	assert.Lenf(t, links, MaxOutlinks, "%d links, %v; want %d", len(links), err, MaxOutlinks)
}

func TestHeadOfManyFoldedLinesIsReadInLinearTime(t *testing.T) {
	head := "WARC/1.1\r\nWARC-Type: metadata\r\nContent-Length: 0\r\nX: a\r\n" + strings.Repeat(" b\n", 18_000) + "\r\n\r\n\r\n"
	var codes []string
	if n := allocation(func() {
		l := NewLenient(bytes.NewReader([]byte(head)), func(f Finding) {
			if len(codes) == 0 || codes[len(codes)-1] != f.Code {
				codes = append(codes, f.Code)
			}
		})
		for {
			if _, err := l.Next(); err != nil {
				assert.True(t, err == io.EOF, err)
				return
			}
		}
	}); n > 4<<20 {
		t.Errorf("allocated %d octets for a head of %d", n, len(head))
	}
	equal(t, "findings", codes, []string{PlainFile, LineFeed})
}
