package warc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	write(t, w, withDecision(1), withDecision(2), withDecision(3))
	closing(t, w)
	return filepath.Join(dir, "crawl-00000.warc.gz")
}

func rewritten(t *testing.T, path string, edit func(*Record) (Edit, error)) ([]byte, []entry) {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Rewrite(t.Context(), &b, path, edit))
	to := filepath.Join(t.TempDir(), "anew.warc.gz")
	writeFile(t, to, b.Bytes())
	return b.Bytes(), read(t, to)
}

func TestRewrite_KeepsOtherRecords(t *testing.T) {
	path := written(t)
	was, err := os.ReadFile(path)
	require.NoError(t, err)
	now, _ := rewritten(t, path, func(*Record) (Edit, error) { return Edit{}, nil })
	assert.True(t, bytes.Equal(now, was), "all was kept, and it is another file")
	all := read(t, path)
	for i, gone := range all {
		now, left := rewritten(t, path, func(r *Record) (Edit, error) {
			if r.ID() == gone.ID() {
				return Edit{Fate: Drop}, nil
			}
			return Edit{}, nil
		})
		end := int64(len(was))
		if i+1 < len(all) {
			end = all[i+1].Offset
		}
		want := append(was[:gone.Offset:gone.Offset], was[end:]...)
		assert.Truef(t, bytes.Equal(now, want) && len(left) == len(all)-1, "record %d: %d octets and %d records are left", i, len(now), len(left))
	}
}

func TestRewrite_ReducedHasHeadOnly(t *testing.T) {
	path := written(t)
	is := func(r *Record) bool { return r.Type == "response" && strings.HasSuffix(r.TargetURI(), "/2") }
	_, now := rewritten(t, path, func(r *Record) (Edit, error) {
		if is(r) {
			return Edit{Fate: Reduce}, nil
		}
		return Edit{}, nil
	})
	reduced := 0
	for i, was := range read(t, path) {
		if !is(was.Record) {
			assert.Truef(t, bytes.Equal(now[i].block, was.block), "the %s record of %s has another block", was.Type, was.TargetURI())
			continue
		}
		reduced++
		head, body, _ := bytes.Cut(was.block, []byte("\r\n\r\n"))
		require.NotEmpty(t, body, "no body to lose")
		head = append(head[:len(head):len(head)], "\r\n\r\n"...)
		assert.Equal(t, head, now[i].block, "the block")
		var want Fields
		for _, f := range was.Fields {
			switch f.Name {
			case "WARC-Payload-Digest", "WARC-Truncated":
				continue
			case "WARC-Block-Digest":
				f.Value = fmt.Sprintf("sha256:%x", sha256.Sum256(head))
			case "Content-Type":
				want = append(want, Field{"WARC-Truncated", "unspecified"})
			case "Content-Length":
				f.Value = fmt.Sprint(len(head))
			}
			want = append(want, f)
		}
		assert.Truef(t, fmt.Sprint(now[i].Fields) == fmt.Sprint(want), "fields\n%v\nwant\n%v", now[i].Fields, want)
	}
	assert.Equal(t, 1, reduced, "records were reduced")
}

func TestABlockIsReplaced(t *testing.T) {
	path := written(t)
	b, now := rewritten(t, path, func(r *Record) (Edit, error) {
		if r.Type == "metadata" {
			return Edit{Fate: Replace, Block: []byte("via: nobody\r\n")}, nil
		}
		return Edit{}, nil
	})
	n := 0
	for _, e := range now {
		if e.Type == "metadata" {
			n++
			assert.Truef(t, string(e.block) == "via: nobody\r\n" && e.Fields.Get("WARC-Truncated") == "", "%v %q", e.Fields, e.block)
		}
	}
	assert.Equal(t, 3, n, "records")
	c := NewChecker()
	_, err := c.File(bytes.NewReader(b), func(f Finding) { t.Error(f) })
	assert.NoError(t, err)
	c.Finish(func(_ int, f Finding) { t.Error(f) })
}

func TestRewrite_RejectsUnreadable(t *testing.T) {
	path := written(t)
	keep := func(*Record) (Edit, error) { return Edit{}, nil }
	no := errors.New("no")
	assert.ErrorIs(t, Rewrite(t.Context(), io.Discard, path, func(*Record) (Edit, error) { return Edit{}, no }), no)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, Rewrite(ctx, io.Discard, path, keep), context.Canceled)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, n := range []int{1, len(b) / 2, len(b) - 1} {
		writeFile(t, path, b[:n])
		assert.Errorf(t, Rewrite(t.Context(), io.Discard, path, keep), "%d of %d octets are taken for a segment", n, len(b))
	}
}

func TestHTTPHeadEndsAtTheEmptyLine(t *testing.T) {
	long := "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 9000) + "\r\n\r\n"
	for block, want := range map[string]string{
		"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\r\n\r\nmore": "HTTP/1.1 200 OK\r\nA: b\r\n\r\n",
		"HTTP/1.1 200 OK\nA: b\n\nbody":                   "HTTP/1.1 200 OK\nA: b\n\n",
		"HTTP/1.1 200 OK\r\n\r\n":                         "HTTP/1.1 200 OK\r\n\r\n",
		long + "body":                                     long,
		"no head at all":                                  "",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70<<10) + "\r\n\r\n": "",
		"": "",
	} {
		got, err := HTTPHead(strings.NewReader(block))
		require.NoError(t, err)
		assert.Equalf(t, want, string(got), "%.40q: %.40q", block, got)
	}
}
