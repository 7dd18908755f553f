package extract

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/storage/script"
)

func scripts(t testing.TB, in Input, kind Kind, page canon.URL) (got []string, cut script.Cut) {
	t.Helper()
	cut, err := New().Scripts(context.Background(), in, kind, page, func(name string, u canon.URL) {
		got = append(got, name+" "+strings.TrimPrefix(u.String(), "http://h.test"))
	})
	require.NoError(t, err)
	return got, cut
}

func TestScripts_NamesOfPagesScriptsAndJSON(t *testing.T) {
	in := func(at, contentType, body string) Input {
		return Input{URL: parse(t, "http://h.test"+at), ContentType: contentType, Body: strings.NewReader(body), Size: int64(len(body))}
	}
	for _, tt := range []struct {
		in   Input
		kind Kind
		page canon.URL
		want []string
	}{
		{
			in("/d/p.html", "text/html; charset=utf-8", `<base href=/e/><script>go("a.js")</script><script type=text/template>"b.js"</script><p>"c.js"<script type=application/json>{"f":"d.json"}</script>`),
			KindPage, canon.URL{}, []string{"a.js /e/a.js", "d.json /e/d.json"},
		},
		{in("/js/s.js", "text/javascript", `go("a.js", "/b.js", "//x.test/c.js")`), 0, parse(t, "http://h.test/d/p.html"), []string{"a.js /js/a.js", "a.js /d/a.js", "/b.js /b.js"}},
		{in("/js/s.js", "text/javascript", `go("a.js")`), 0, canon.URL{}, []string{"a.js /js/a.js"}},
	} {
		got, cut := scripts(t, tt.in, tt.kind, tt.page)
		assert.Equal(t, tt.want, got)
		assert.Empty(t, cut)
	}
}

type endless struct{ taken int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = "x=1;\n"[(e.taken+i)%5]
	}
	e.taken += len(p)
	return len(p), nil
}

func TestScripts_AScriptOf50MBIsReadToItsBound(t *testing.T) {
	skipShort(t)
	e := &endless{}
	body := io.MultiReader(strings.NewReader(`go("a.js");`), e)
	got, cut := scripts(t, Input{URL: parse(t, "http://h.test/s.js"), Body: io.LimitReader(body, 50<<20), Size: 50 << 20}, 0, canon.URL{})
	assert.Len(t, got, 1)
	assert.Equal(t, script.CutLong, cut)
	assert.LessOrEqual(t, e.taken, script.MaxRead+1<<20, "bytes are read")
}
