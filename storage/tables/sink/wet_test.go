package sink_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/tables"
	"curtsy/storage/tables/sink"
	"curtsy/storage/warc"
)

func reading(named map[string]tables.Value) tables.Row {
	t := &tables.Reading
	r := make(tables.Row, len(t.Columns))
	for i, c := range t.Columns {
		switch v, ok := named[c.Name]; {
		case ok:
			r[i] = v
		case !c.Required:
			r[i] = tables.Null()
		case c.Kind == tables.Bool:
			r[i] = tables.Flag(false)
		case c.Kind == tables.Int64:
			r[i] = tables.Long(0)
		}
	}
	return r
}

var fetched = time.Date(2026, 11, 23, 7, 0, 0, 0, time.UTC)

func readings() []tables.Row {
	return []tables.Row{
		reading(map[string]tables.Value{
			"url_surtkey": tables.Text("test,a)/"), "url": tables.Text("http://a.test/"), "fetch_time": tables.Instant(fetched),
			"content_languages": tables.Text("deu,eng"), "text": tables.Text("Über Fähren\nEine Zeile"), "text_octets": tables.Long(24),
			"warc_record_id": tables.Text("urn:uuid:00000000-0000-4000-8000-000000000001"),
		}),
		reading(map[string]tables.Value{"url_surtkey": tables.Text("test,a)/b"), "url": tables.Text("http://a.test/b"), "fetch_time": tables.Instant(fetched)}),
		reading(map[string]tables.Value{
			"url_surtkey": tables.Text("test,a)/c"), "url": tables.Text("http://a.test/c d\r\nWARC-Type: forged"), "fetch_time": tables.Instant(fetched),
			"text": tables.Text("\r\n\r\nWARC/1.0\r\n"), "text_cut": tables.Text("over 2 MiB of text"), "warc_record_id": tables.Text("<x>\n"),
		}),
	}
}

func TestAWETFileHasARecordForEachText(t *testing.T) {
	path := written(t, sink.WET, &tables.Reading, readings(), sink.Options{Version: "1"})
	assert.Equal(t, "text.warc.wet.gz", filepath.Base(path), "its name")
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	l := warc.NewLenient(f, func(f warc.Finding) { t.Errorf("%+v", f) })
	var got []string
	for {
		rec, err := l.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		block, err := io.ReadAll(rec.Block)
		require.NoError(t, err)
		if rec.Type == "warcinfo" {
			block = []byte(strings.Split(string(block), "\r\n")[0])
		}
		got = append(got, fmt.Sprintf("%s %s %s %s %s %s %q", rec.Type, rec.TargetURI(), rec.Fields.Get("WARC-Refers-To"), rec.Fields.Get("WARC-Identified-Content-Language"),
			rec.Fields.Get("WARC-Truncated"), rec.Fields.Get("WARC-Block-Digest"), block))
	}
	want := []string{ // the digests are those of openssl sha1 -binary | base32
		`warcinfo      "Software-Info: curtsy/1"`,
		`conversion http://a.test/ <urn:uuid:00000000-0000-4000-8000-000000000001> deu,eng  sha1:HHCJGNIR3RBNNRKWT3BSVPQPQN2KP54Q "Über Fähren\nEine Zeile\n"`,
		`conversion http://a.test/c%20d%0D%0AWARC-Type:%20forged   length sha1:K4WTJUOCWU7GZXCJ6X4XVEW7BBL4XQAQ "\r\n\r\nWARC/1.0\r\n\n"`,
	}
	assert.Truef(t, slices.Equal(got, want), "%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

func TestALongTextIsWrittenOnce(t *testing.T) {
	var rows []tables.Row
	for i := range 100 {
		rows = append(rows, reading(map[string]tables.Value{
			"url_surtkey": tables.Text(fmt.Sprintf("test,a)/%02d", i)), "url": tables.Text("http://a.test/"), "fetch_time": tables.Instant(fetched),
			"text": tables.Text(strings.Repeat(fmt.Sprintf("Line %d of a text.\n", i), 1000)),
		}))
	}
	fi, err := os.Stat(written(t, sink.Parquet, &tables.Reading, rows, sink.Options{}))
	require.NoError(t, err)
	if fi.Size() > 100<<10 { // each text is one line, again and again
		t.Errorf("%d bytes", fi.Size())
	}
}

func TestNoOtherTableIsWrittenAsWET(t *testing.T) {
	path := filepath.Join(t.TempDir(), "every")
	_, err := sink.Create(sink.WET, path, every, sink.Options{})
	assert.Error(t, err, "it was started")
	left, _ := os.ReadDir(filepath.Dir(path))
	assert.Truef(t, len(left) == 0, "it left %v", left)
}
