package cbcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
)

// day0 is when the archives of tests begin.
var day0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	bakery  = "http://bakery.test"
	lantern = "Lantern/1 (+https://lantern.test/bot)"
	rules   = "User-agent: *\nCrawl-delay: 2\nDisallow: /private\n"
)

// fetch is an exchange of an archive that a test makes. Zero fields are those of a good one.
type fetch struct {
	at     time.Duration // since day0
	path   string
	took   time.Duration // 0 is 100 ms, −1 not said
	method string
	agent  string
	sent   string // more fields of the request, each with its end
	status int    // 0 is 200
	head   string // fields of the answer, each with its end
	body   string
	told   string // more fields of the metadata record
	noReq  bool
}

// polite is a crawl that keeps each clause that an archive can show.
func polite() []fetch {
	return []fetch{
		{at: 0, path: "/robots.txt", body: rules},
		{at: 10 * time.Second, path: "/", head: "ETag: \"1\"\r\n", body: "bread", told: "kind: seed\r\ndepth: 0\r\n"},
		{at: 20 * time.Second, path: "/bread", head: "X-Robots-Tag: nofollow\r\n", body: "rye",
			told: "kind: link\r\ndepth: 1\r\nvia: " + bakery + "/\r\npaceMs: 5000\r\npaceBy: response time\r\n"},
		{at: 30 * time.Second, path: "/busy", status: 503},
		{at: 120 * time.Second, path: "/busy", body: "rolls"},
		{at: 130 * time.Second, path: "/", sent: "If-None-Match: \"1\"\r\n", status: 304},
	}
}

// archive writes a WARC file of another crawler.
func archive(t testing.TB, all []fetch) string {
	t.Helper()
	var b bytes.Buffer
	n := 0
	record := func(kind, uri string, at time.Time, media, to, block string) {
		n++
		fmt.Fprintf(&b, "WARC/1.1\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:test:%d>\r\nWARC-Date: %s\r\n", kind, n,
			at.Format("2006-01-02T15:04:05.000000Z"))
		if uri != "" {
			fmt.Fprintf(&b, "WARC-Target-URI: %s\r\n", uri)
		}
		fmt.Fprintf(&b, "WARC-Block-Digest: sha256:%x\r\nContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n%s\r\n\r\n",
			sha256.Sum256([]byte(block)), media, to, len(block), block)
	}
	record("warcinfo", "", day0, "application/warc-fields", "", "software: Otherbot/2\r\n")
	for _, f := range all {
		uri, at, to := bakery+f.path, day0.Add(f.at), ""
		if !f.noReq {
			record("request", uri, at, "application/http; msgtype=request", fmt.Sprintf("WARC-Concurrent-To: <urn:test:%d>\r\n", n+2),
				fmt.Sprintf("%s %s HTTP/1.1\r\nHost: bakery.test\r\n%s%s\r\n", cmp.Or(f.method, "GET"), f.path,
					field("User-Agent", cmp.Or(f.agent, lantern)), f.sent))
			to = fmt.Sprintf("WARC-Concurrent-To: <urn:test:%d>\r\n", n)
		}
		record("response", uri, at, "application/http; msgtype=response", to,
			fmt.Sprintf("HTTP/1.1 %d X\r\n%s\r\n%s", cmp.Or(f.status, 200), f.head, f.body))
		if f.took >= 0 {
			record("metadata", uri, at, "application/warc-fields", fmt.Sprintf("WARC-Concurrent-To: <urn:test:%d>\r\n", n),
				fmt.Sprintf("fetchTimeMs: %.3f\r\n%s", float64(cmp.Or(f.took, 100*time.Millisecond))/1e6, f.told))
		}
	}
	path := filepath.Join(t.TempDir(), "other.warc")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

func field(name, value string) string {
	if value == "none" {
		return ""
	}
	return name + ": " + value + "\r\n"
}

// judge audits an archive and judges the clauses.
func judge(t testing.TB, all []fetch) *Result {
	t.Helper()
	files := []string{archive(t, all)}
	j := New(Published{})
	r, err := audit.Run(t.Context(), audit.Options{Files: files, TempDir: t.TempDir(), Witnesses: []audit.Witness{j}})
	require.NoError(t, err)
	return j.Conclude(r, nil)
}

// in are the ids of the clauses in a state, in the order of the draft.
func (r *Result) in(s State) string {
	var ids []string
	for _, c := range r.Clauses {
		if c.State == s {
			ids = append(ids, c.ID)
		}
	}
	return strings.Join(ids, " ")
}

// of is the judgement on a clause.
func (r *Result) of(t testing.TB, id string) Judged {
	t.Helper()
	i := slices.IndexFunc(r.Clauses, func(c Judged) bool { return c.ID == id })
	require.GreaterOrEqualf(t, i, 0, "no clause %s", id)
	return r.Clauses[i]
}

// clause is the check of the clause with that id.
func clause(id string) check {
	return clauses[slices.IndexFunc(clauses, func(c Clause) bool { return c.ID == id })].check
}
