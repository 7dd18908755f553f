package proof

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
)

func (w *world) forget(host string, from, to int, reason string) {
	var entries []string
	for _, i := range w.at[host][from:to] {
		h := tree.EntryHash(w.lines[i])
		w.lines[i] = fmt.Appendf(nil, `{"redacted":"%x"}`, h[:])
		delete(w.heads, int64(i))
		entries = append(entries, fmt.Sprint(i))
	}
	w.mark(fmt.Sprintf(`{"mark":"redaction","time":"%s","extent":"all","reason":%s,"subject_sha256":"%s","records":[],"entries":[%s],"files":[]}`,
		w.clock(), quoted(reason), strings.Repeat("0", 64), strings.Join(entries, ",")))
}

func withoutTwoLines(t testing.TB) ([]byte, checkpoint.Key) {
	w := newWorld(t, 1)
	w.visit("a.test", 5)
	w.visit("b.test", 5)
	w.commit()
	w.forget("a.test", 3, 5, "asked for by <the owner>")
	return w.bundle("a.test", w.commit()), w.signer.Key()
}

func TestRedactedLinesAreNamed(t *testing.T) {
	b, key := withoutTwoLines(t)
	r := verified(t, b, Options{Key: key})
	if !r.Holds || r.Summary.Redacted != 2 || r.Summary.Lines != 7 || len(r.Redaction) != 1 || r.Redaction[0].Lines != 2 ||
		r.Redaction[0].Reason != "asked for by <the owner>" {
		t.Errorf("%+v %+v", r, r.Findings)
	}
}

func TestRedaction_NamedAfterItsLine(t *testing.T) {
	w := newWorld(t, 1)
	w.visit("b.test", 3)
	w.forget("b.test", 1, 2, "")
	w.visit("a.test", 5)
	m := unpacked(t, w.bundle("a.test", w.commit()))
	lines := bytes.SplitAfter(m[linesName], []byte("\n"))
	row, err := parseRow(bytes.TrimSuffix(lines[2], []byte("\n")))
	require.NoError(t, err)
	h, _ := row.hash()
	lines[2] = Row{row.Index, fmt.Appendf(nil, `{"redacted":"%x"}`, h[:])}.append(nil)
	m[linesName] = bytes.Join(lines, nil)
	assert.EqualValues(t, 1, verified(t, m.packed(t), Options{}).Counts[Unredacted])
}
