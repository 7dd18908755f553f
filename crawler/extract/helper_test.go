package extract

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/storage/coding"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

func skipShort(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads or allocates much, for long under the race detector")
	}
}

const pageURL = "http://h.test/dir/page.html?q=1"

func parse(t testing.TB, raw string) canon.URL {
	t.Helper()
	u, err := canon.Parse(raw)
	require.NoError(t, err)
	return u
}

func extract(t testing.TB, body string, header ...string) Page {
	t.Helper()
	return extractAs(t, "text/html; charset=utf-8", body, header...)
}

func unpruned(t testing.TB, body string) Page {
	t.Helper()
	return read(input(t, []byte(body)), []byte(body), &coding.Limited{Ctx: t.Context(), R: strings.NewReader(""), Left: MaxParse}, nil)
}

func extractAs(t testing.TB, contentType, body string, header ...string) Page {
	t.Helper()
	in := Input{URL: parse(t, pageURL), ContentType: contentType, Header: http.Header{}, Body: strings.NewReader(body), Size: int64(len(body)), Token: "mybot"}
	for i := 0; i < len(header); i += 2 {
		in.Header.Add(header[i], header[i+1])
	}
	page, err := New().HTML(context.Background(), in)
	require.NoError(t, err)
	return page
}

// line shows a link: "a href http://… nofollow", with "+" before requisites and a home page's URLs shortened.
func line(l Link) string {
	var b strings.Builder
	if l.Embed {
		b.WriteString("+")
	}
	if l.Element != "" {
		b.WriteString(l.Element + " ")
	}
	fmt.Fprintf(&b, "%s %s", l.Attr, strings.Replace(l.URL.String(), "http://h.test/", "/", 1))
	for _, flag := range []struct {
		on   bool
		name string
	}{{l.Rel.NoFollow, "nofollow"}, {l.Rel.UGC, "ugc"}, {l.Rel.Sponsored, "sponsored"}, {l.Refresh, "refresh"}} {
		if flag.on {
			b.WriteString(" " + flag.name)
		}
	}
	return b.String()
}

func lines(p Page) string {
	var ls []string
	for _, l := range p.Links {
		ls = append(ls, line(l))
	}
	return strings.Join(ls, "; ")
}

func mentions(p Page) int {
	n := len(p.Links) + p.Repeats + p.Dropped
	for _, k := range p.Refused {
		n += k
	}
	return n
}

type faulty struct {
	r   io.Reader
	err error
}

func (f faulty) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}
