package audit

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

// seeds returns how many of n random cases a test plays: all with CURTSY_LONG, else a quarter, with -short a twentieth.
func seeds(n uint64) uint64 {
	switch {
	case os.Getenv("CURTSY_LONG") != "":
		return n
	case testing.Short():
		return n / 20
	}
	return n / 4
}

var day0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// archive writes a WARC file by hand, so that it can be wrong in any way.
type archive struct {
	t    testing.TB
	b    bytes.Buffer
	z    *gzip.Writer
	n    int    // of the records written
	form string // of dates
	info string // the id of the warcinfo record, in an archive of this crawler
}

const lantern = "Lantern/1 (+https://lantern.test/bot)"

func ours(t testing.TB, fields ...string) *archive {
	return oursFrom(t, 0, day0, fields...)
}

// oursFrom is ours of a run that began at a time; n records were written before it.
func oursFrom(t testing.TB, n int, at time.Time, fields ...string) *archive {
	a := &archive{t: t, n: n, form: "2006-01-02T15:04:05.000000Z"}
	block := "software: curtsy/1.0\r\nhttp-header-user-agent: " + lantern + "\r\nproduct-token: Lantern\r\npace-floor-ms: 1000\r\nip-delay-ms: 500\r\nrobots: rfc9309\r\n"
	for _, f := range fields {
		block += f + "\r\n"
	}
	a.info = a.record("warcinfo", "", at, "WARC-Filename: test-00000.warc.gz\r\nContent-Type: application/warc-fields", block)
	return a
}

func foreign(t testing.TB) *archive {
	a := &archive{t: t, form: "2006-01-02T15:04:05.000000Z"}
	a.record("warcinfo", "", day0, "Content-Type: application/warc-fields", "software: Otherbot/2\r\n")
	return a
}

// record appends a record and returns its id. The head's extra fields are lines.
func (a *archive) record(kind, uri string, at time.Time, extra, block string) string {
	a.n++
	id := fmt.Sprintf("urn:test:%d", a.n)
	var b strings.Builder
	fmt.Fprintf(&b, "WARC/1.1\r\nWARC-Type: %s\r\nWARC-Record-ID: <%s>\r\nWARC-Date: %s\r\n", kind, id, at.UTC().Format(a.form))
	if uri != "" {
		fmt.Fprintf(&b, "WARC-Target-URI: %s\r\n", uri)
	}
	if !strings.Contains(extra, "WARC-Block-Digest") {
		fmt.Fprintf(&b, "WARC-Block-Digest: sha256:%s\r\n", sha(block))
	}
	if a.info != "" {
		fmt.Fprintf(&b, "WARC-Warcinfo-ID: <%s>\r\n", a.info)
	}
	if extra != "" {
		b.WriteString(extra + "\r\n")
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s\r\n\r\n", len(block), block)
	if a.z == nil {
		a.z, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed)
	}
	a.z.Reset(&a.b)
	io.WriteString(a.z, b.String()) // a bytes.Buffer never fails
	a.z.Close()
	return id
}

// fetch is an exchange to be written. Zero fields are those of a good one.
type fetch struct {
	url     string
	at      time.Duration // since day0
	took    time.Duration // 0 is 100 ms
	status  int           // 0 is 200, −1 no answer
	head    string        // lines of the answer's head, each with its end
	body    string
	method  string
	agent   string // "none" for no agent
	meta    string // more lines of the metadata record; "none" for no such record
	noReq   bool
	request string // the request line's target
	host    string // the Host that is sent, if not the URL's
	extra   string // more fields of the response record
	ip      string
}

func (a *archive) add(f fetch) string {
	a.t.Helper()
	at := day0.Add(f.at)
	p, err := evidence.ParseURL(f.url)
	if err != nil {
		a.t.Fatalf("%q is not a URL", f.url)
	}
	if f.request == "" {
		f.request = p.Target
	}
	if f.method == "" {
		f.method = "GET"
	}
	agent := "User-Agent: " + lantern + "\r\n"
	if f.agent == "none" {
		agent = ""
	} else if f.agent != "" {
		agent = "User-Agent: " + f.agent + "\r\n"
	}
	_, host, _ := strings.Cut(p.Authority, "://")
	sent := host
	if f.host != "" {
		sent = f.host
	}
	if f.ip == "" { // one for each host
		sum := sha256.Sum256([]byte(host))
		f.ip = netip.AddrFrom4([4]byte{198, 18, sum[0], sum[1]}).String()
	}
	ip := "WARC-IP-Address: " + f.ip + "\r\n"
	to := func(ids ...string) (fields string) {
		for _, id := range ids {
			if id != "" {
				fields += "\r\nWARC-Concurrent-To: <" + id + ">"
			}
		}
		return fields
	}
	// The ids of the records to come: a request, an answer and metadata, as far as there are any.
	ask, answer, metadata := "", "", ""
	for n, p := range []*string{&ask, &answer, &metadata} {
		if there := [...]bool{!f.noReq, f.status >= 0, f.meta != "none"}; there[n] {
			*p = fmt.Sprintf("urn:test:%d", a.n+1+strings.Count(ask+answer, ":")/2)
		}
	}
	if !f.noReq {
		a.record("request", f.url, at, ip+"Content-Type: application/http; msgtype=request"+to(answer, metadata),
			f.method+" "+f.request+" HTTP/1.1\r\nHost: "+sent+"\r\n"+agent+"\r\n")
	}
	if f.status >= 0 {
		if f.status == 0 {
			f.status = 200
		}
		names := to(ask)
		if f.noReq {
			names = to(metadata)
		}
		extra := ip + "Content-Type: application/http; msgtype=response\r\nWARC-Payload-Digest: sha256:" + sha(f.body) + names
		if f.extra != "" {
			extra += "\r\n" + f.extra
		}
		a.record("response", f.url, at, extra, fmt.Sprintf("HTTP/1.1 %d X\r\n%s\r\n%s", f.status, f.head, f.body))
	}
	id := cmp.Or(answer, ask)
	if f.meta != "none" {
		if f.took == 0 {
			f.took = 100 * time.Millisecond
		}
		a.record("metadata", f.url, at, "Content-Type: application/warc-fields"+to(id),
			fmt.Sprintf("fetchTimeMs: %.3f\r\n%s", float64(f.took)/1e6, f.meta))
	}
	return id
}

func (a *archive) file() string {
	path := filepath.Join(a.t.TempDir(), "test-00000.warc.gz")
	require.NoError(a.t, os.WriteFile(path, a.b.Bytes(), 0o600))
	return path
}

func (a *archive) audit(o Options) *Result {
	a.t.Helper()
	o.Files, o.TempDir = append(o.Files, a.file()), a.t.TempDir()
	r, err := Run(a.t.Context(), o)
	require.NoError(a.t, err)
	return r
}

// expect compares the codes of the findings.
func expect(t testing.TB, want string, r *Result, of ...any) {
	t.Helper()
	assert.Equalf(t, want, codes(r), "%v%s", of, shown(r))
}

// after is a file of this crawler written after a.
func (a *archive) after() *archive {
	next := ours(a.t)
	next.n = a.n
	return next
}

func codes(r *Result) string {
	var s []string
	for _, c := range r.Counts {
		s = append(s, string(c.Code))
	}
	return strings.Join(s, " ")
}

func shown(r *Result) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n  %s %s at %d: required %s; observed %s", f.Code, f.URL, f.Offset, f.Required, f.Observed)
	}
	for _, h := range r.Hosts {
		fmt.Fprintf(&b, "\n  %+v", *h)
	}
	return b.String()
}

// idle is a witness that finds nothing.
type idle struct{}

func (idle) Exchange(context.Context, *evidence.Exchange, finding.Report) error { return nil }
func (idle) Refused(context.Context, *storage.Line, finding.Place, finding.Report) error {
	return nil
}
func (idle) Info(context.Context, *evidence.Info, finding.Report) error { return nil }
func (idle) Close(context.Context, *Result, finding.Report) error       { return nil }

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
