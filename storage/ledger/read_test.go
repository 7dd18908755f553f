package ledger

import (
	"bytes"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

func TestReadNamesFaults(t *testing.T) {
	dir := t.TempDir()
	one, two := numbered(1), numbered(2)
	good, better := string(append(one.AppendJSON(nil), '\n')), string(append(two.AppendJSON(nil), '\n'))
	for name, text := range map[string]string{
		"000000.jsonl":    good + "{\"time\":1}\n" + strings.Repeat("x", maxLine+1) + "\n" + better + "{\"pace_ms\":1e3}\n{}",
		"000001.jsonl":    better + good[:20],
		"000002.jsonl.zz": "no segment", "2.jsonl": "no segment", "-00001.jsonl": "no segment",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	var got []string
	for l, err := range Read(dir) {
		if err == nil {
			got = append(got, l.URL)
			continue
		}
		prefix := "ledger: read " + dir + string(filepath.Separator)
		if !strings.HasPrefix(err.Error(), prefix) || l.URL != "" {
			t.Errorf("%+v, %v", l, err)
		}
		got = append(got, strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), prefix))[:3], " "))
	}
	equal(t, "read", got, []string{
		"http://a.test/1", "000000.jsonl line 2:", "000000.jsonl line 3:", "http://a.test/2", "000000.jsonl line 5:",
		"000000.jsonl line 6:", "http://a.test/2",
	})
	n := 0
	for range Read(dir) {
		if n++; n == 2 {
			break
		}
	}
	for _, err := range Read(filepath.Join(dir, "none")) {
		assert.ErrorIs(t, err, fs.ErrNotExist, "no directory")
	}
}

func FuzzRead(f *testing.F) {
	first := numbered(1)
	f.Add(append(first.AppendJSON(nil), '\n'))
	f.Add([]byte("{}\nnull\n[]\n\n{\"url\":\"\\ud800\"}\nhalf"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "000000.jsonl"), text, 0o644))
		n := 0
		for l, err := range Read(dir) {
			n++
			if err != nil {
				continue
			}
			l.Time, l.Began, l.Took, l.Addr = time.Time{}, time.Time{}, 0, netip.AddrPort{}
			l.Pace, l.Gap, l.FirstByte = l.Pace.Truncate(time.Microsecond), l.Gap.Truncate(time.Microsecond), l.FirstByte.Truncate(time.Microsecond)
			if again, err := storage.ParseLine(l.AppendJSON(nil)); err != nil || again != l {
				t.Fatalf("\n got %+v, %v\nwant %+v", again, err, l)
			}
		}
		marks := bytes.Count(append([]byte("\n"), text[:bytes.LastIndexByte(text, '\n')+1]...), append([]byte("\n"), markStart...))
		require.Equalf(t, bytes.Count(text, []byte("\n"))-marks, n, "results, beside %d marks", marks)
	})
}
