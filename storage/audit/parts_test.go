package audit

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
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

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// foreigner writes two records of an exchange as other tools do, and nothing about its end.
func (a *archive) foreigner(uri string, at time.Duration, body string, requestFirst, named bool) {
	p, _ := evidence.ParseURL(uri)
	_, host, _ := strings.Cut(p.Authority, "://")
	request := "GET " + p.Target + " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: Otherbot/2\r\n\r\n"
	response := "HTTP/1.1 200 OK\r\n\r\n" + body
	when := day0.Add(at)
	first, second := "response", "request"
	blocks := map[string]string{"request": request, "response": response}
	if requestFirst {
		first, second = second, first
	}
	id := a.record(first, uri, when, "Content-Type: application/http; msgtype="+first, blocks[first])
	extra := "Content-Type: application/http; msgtype=" + second
	if named {
		extra += "\r\nWARC-Concurrent-To: <" + id + ">"
	}
	a.record(second, uri, when, extra, blocks[second])
}

// Records are put together whichever comes first, by their names or as neighbours with one URI and date, and whatever
// stands between them.
func TestRecordsArePutTogether(t *testing.T) {
	for _, requestFirst := range []bool{true, false} {
		for _, named := range []bool{true, false} {
			a := foreign(t)
			a.foreigner(site+"/robots.txt", 0, rule, requestFirst, named)
			a.foreigner(site+"/", s, "page", requestFirst, named)
			a.foreigner(site+"/private/x", 2*s, "page", requestFirst, named)
			r := a.audit(Options{})
			if r.Totals.Exchanges != 3 || r.Totals.Unanswered != 0 || codes(r) != "disallowed" {
				t.Errorf("request first %v, named %v: %+v%s", requestFirst, named, r.Totals, shown(r))
			}
		}
	}
	a := foreign(t) // interleaved
	one := a.record("request", site+"/robots.txt", day0, "Content-Type: application/http", "GET /robots.txt HTTP/1.1\r\nUser-Agent: Otherbot\r\n\r\n")
	two := a.record("request", "http://other.test/robots.txt", day0, "Content-Type: application/http", "GET /robots.txt HTTP/1.1\r\nUser-Agent: Otherbot\r\n\r\n")
	a.record("resource", "urn:x", day0, "Content-Type: text/plain", "something else")
	a.record("response", "http://other.test/robots.txt", day0, "Content-Type: application/http\r\nWARC-Concurrent-To: <"+two+">", "HTTP/1.1 404 No\r\n\r\n")
	a.record("response", site+"/robots.txt", day0, "Content-Type: application/http\r\nWARC-Concurrent-To: <"+one+">", "HTTP/1.1 200 OK\r\n\r\n"+rule)
	r := a.audit(Options{})
	if r.Totals.Exchanges != 2 || r.Totals.Unanswered != 0 || r.Hosts[0].Policy != "none" || r.Hosts[1].Policy != "rules" {
		t.Errorf("interleaved: %+v%s", r.Totals, shown(r))
	}
}

// Files that another crawler wrote at one time are one archive: a robots.txt may be in one of them and the page in
// another, whatever their order.
func TestFilesWrittenSideBySideAreOneArchive(t *testing.T) {
	pages, policies := foreign(t), foreign(t)
	for i := range 40 {
		host := fmt.Sprintf("https://h%02d.test", i)
		policies.foreigner(host+"/robots.txt", time.Duration(i)*s, rule, true, true)
		pages.foreigner(host+"/a", time.Duration(i)*s+s/2, "page", true, true)
	}
	r := pages.audit(Options{Files: []string{policies.file()}})
	if !r.Clean || r.Totals.Judged != 40 {
		t.Errorf("%+v%s", r.Totals, shown(r))
	}
	if r = policies.audit(Options{Files: []string{pages.file()}}); !r.Clean || r.Totals.Judged != 40 {
		t.Errorf("the other way round: %+v%s", r.Totals, shown(r))
	}
}

// What the archive says of URLs that were not asked for is recomputed as well.
func TestRefusalsAreJudged(t *testing.T) {
	refusal := func(l storage.Line) string {
		l.Time = day0.Add(s)
		return string(l.AppendJSON(nil)) + "\n"
	}
	rightly := refusal(storage.Line{URL: site + "/private/x", Decision: "disallow", RobotsLine: 2, RobotsRule: "Disallow: /private", RobotsGroup: "*", RobotsSHA256: sha(rule), Count: 7})
	scope := refusal(storage.Line{URL: "https://elsewhere.test/", Decision: "refuse", Reason: "host"})
	wrongly := refusal(storage.Line{URL: site + "/private/open", Decision: "disallow", RobotsLine: 2, RobotsRule: "Disallow: /private", RobotsGroup: "*", RobotsSHA256: sha(rule)})
	by := func(text string, line int) string {
		return refusal(storage.Line{URL: site + "/private/x", Decision: "disallow", RobotsLine: line, RobotsRule: "Disallow: /private", RobotsGroup: "*", RobotsSHA256: sha(text)})
	}
	misquoted := refusal(storage.Line{URL: site + "/private/x", Decision: "disallow", RobotsLine: 2, RobotsRule: "Disallow: /", RobotsGroup: "*", RobotsSHA256: sha(rule)})
	full := refusal(storage.Line{URL: site + "/private/x", Decision: "disallow", RobotsSHA256: sha("lost")}) // there is no line to compare
	unknown := refusal(storage.Line{URL: site + "/private/x", Decision: "disallow", RobotsLine: 2, RobotsSHA256: sha("lost")})
	for _, c := range []struct {
		name, lines, codes string
		avoided, unproved  int64
	}{
		{"rightly", rightly + scope, "", 7, 0},
		{"wrongly", wrongly, "verdict", 1, 0},
		{"by a lost robots.txt", unknown, "", 1, 1},
		{"by the robots.txt before", by("\n"+rule, 3), "", 1, 0},
		{"by one before that", by("\n\n"+rule, 4), "", 1, 0},
		{"by another line of the robots.txt before", by("\n"+rule, 2), "verdict", 1, 0},
		{"by another rule", misquoted, "verdict", 1, 0},
		{"all of the host", full, "", 1, 0},
		{"no line", "{\n", "record", 0, 0},
	} {
		a := ours(t)
		for i, text := range []string{"\n\n" + rule, "\n" + rule, rule} {
			a.add(fetch{url: site + "/robots.txt", at: time.Duration(2*i-4) * s, body: text})
		}
		a.record("metadata", "", day0.Add(2*s), "Content-Type: application/x-ndjson", c.lines)
		r := a.audit(Options{})
		if codes(r) != c.codes || r.Totals.Disallowed != c.avoided || r.Totals.Unprovable != c.unproved || len(r.Hosts) != 1 {
			t.Errorf("%s: %q, %+v%s", c.name, codes(r), r.Totals, shown(r))
		}
	}
}

// Digests hold for bodies in chunks, by either reading of "payload", and for codings of robots.txt.
func TestBodiesAreDecoded(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, rule)
	w.Close()
	packed := z.String()
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(packed), packed)
	for name, digest := range map[string]string{"of the body": sha(packed), "of the chunks": sha(chunked), "of something else": sha("x")} {
		a := ours(t)
		a.record("response", site+"/robots.txt", day0, "Content-Type: application/http\r\nWARC-Payload-Digest: sha256:"+digest,
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"+chunked)
		a.record("request", site+"/robots.txt", day0, "Content-Type: application/http\r\nWARC-Concurrent-To: <urn:test:2>", "GET /robots.txt HTTP/1.1\r\nHost: bakery.test\r\nUser-Agent: "+lantern+"\r\n\r\n")
		a.record("metadata", site+"/robots.txt", day0, "Content-Type: application/warc-fields\r\nWARC-Concurrent-To: <urn:test:2>", "fetchTimeMs: 1\r\n")
		a.add(fetch{url: site + "/private", at: 2 * s})
		want := "disallowed"
		if name == "of something else" {
			want = "disallowed digest"
		}
		if r := a.audit(Options{}); codes(r) != want {
			t.Errorf("%s: %q%s", name, codes(r), shown(r))
		}
	}
}

// At most Limit findings of one code and host are kept, and all are counted.
func TestFindingsAreCappedAndCounted(t *testing.T) {
	a := ours(t)
	for i := range 30 {
		a.add(fetch{url: fmt.Sprintf("%s/%d", site, i), at: time.Duration(2*i) * s})
	}
	r := a.audit(Options{Limit: 4})
	if len(r.Findings) != 4 || r.Counts[0].Found != 30 || r.Counts[0].Kept != 4 || r.Hosts[0].Violations != 30 {
		t.Errorf("%d findings, counts %+v, host %+v", len(r.Findings), r.Counts, r.Hosts[0])
	}
}

// A segment that was being written may end within a record; a complete one may not.
func TestTornFile(t *testing.T) {
	a := ours(t)
	a.robots(rule)
	whole := a.b.Len()
	a.add(fetch{url: site + "/", at: 2 * s})
	for name, notes := range map[string]int64{"curtsy-00000.warc.gz.open": 1, "curtsy-00000.warc.gz": 0} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, a.b.Bytes()[:whole+40], 0o600))
		r, err := Run(t.Context(), Options{Files: []string{path}, TempDir: t.TempDir()})
		require.NoError(t, err)
		if !r.Files[0].Torn || r.Totals.Notes != notes || r.Clean != (notes == 1) {
			t.Errorf("%s: %+v, %+v%s", name, r.Files[0], r.Totals, shown(r))
		}
	}
}

// What holds no archive is no clean archive.
func TestNothingToAudit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.warc.gz")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	if _, err := Run(t.Context(), Options{Files: []string{path}}); err != ErrNothing {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := Run(t.Context(), Options{Files: []string{path + ".not"}}); err == nil {
		t.Error("a file that is not there is no error")
	}
}

// The JSON form has the fields that docs/reference/audit-findings.md names.
func TestJSONNamesAreDocumented(t *testing.T) {
	a := ours(t)
	a.add(fetch{url: site + "/", meta: "none"})
	a.add(fetch{url: "http://127.0.0.1/robots.txt", at: s})
	a.add(fetch{url: "http://127.0.0.1/robots.txt", at: 2 * s, meta: "none"})
	r := a.audit(Options{})
	b, err := json.Marshal(r)
	require.NoError(t, err)
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "audit-findings.md"))
	require.NoError(t, err)
	var value any
	require.NoError(t, json.Unmarshal(b, &value))
	names := namesIn(value)
	if len(names) < 40 {
		t.Fatalf("only %d names: %s", len(names), b)
	}
	for _, name := range names {
		assert.Truef(t, bytes.Contains(doc, []byte("`"+name+"`")), "docs/reference/audit-findings.md does not name `%s`", name)
	}
	for _, c := range finding.Codes() {
		assert.Truef(t, bytes.Contains(doc, []byte("`"+string(c)+"`")), "docs/reference/audit-findings.md does not name the code `%s`", c)
	}
}

func namesIn(v any) []string {
	var names []string
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			names = append(append(names, k), namesIn(x)...)
		}
	case []any:
		for _, x := range v {
			names = append(names, namesIn(x)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// A flipped bit is damage and no misconduct: the record that it is in is named by URL and offset, what needs it is
// unprovable, and nothing else is found.
func TestDamagedRecord_IsNotMisconduct(t *testing.T) {
	a := ours(t)
	a.add(fetch{url: site + "/robots.txt", body: rule})
	a.add(fetch{url: site + "/a", at: 2 * s, body: strings.Repeat("page ", 99)})
	whole, member := a.b.Bytes(), []byte("\x1f\x8b\x08")
	for at, n := 0, 0; at < len(whole); n++ {
		end := len(whole)
		if i := bytes.Index(whole[at+1:], member); i >= 0 {
			end = at + 1 + i
		}
		for _, where := range []int{at + 12, end - 6} { // the head cannot be read, or the checksum is wrong
			broken := &archive{t: t}
			broken.b.Write(whole)
			broken.b.Bytes()[where] ^= 4
			r := broken.audit(Options{Ours: true})
			named := ""
			for _, f := range r.Findings {
				if f.Unreadable && f.Offset == int64(at) {
					named = cmp.Or(named, f.URL)
				}
			}
			if want := [...]string{"", site + "/robots.txt", site + "/a"}[(n+2)/3]; codes(r) != "record" || named != want {
				t.Errorf("record %d, byte %d: damage of %q%s", n, where, named, shown(r))
			}
		}
		at = end
	}
}

// A record that cannot be read explains what the exchange beside it lacks, and no later one.
func TestDamagedRecord_ExplainsNoOtherExchange(t *testing.T) {
	a := ours(t)
	a.add(fetch{url: site + "/robots.txt", body: rule})
	damaged := a.b.Len()
	a.add(fetch{url: site + "/a", at: 2 * s, body: "a"})
	a.add(fetch{url: site + "/b", at: 4 * s, body: "b"})
	a.add(fetch{url: site + "/c", at: 6 * s, body: "c", meta: "none"})
	a.b.Bytes()[damaged+12] ^= 4
	r := a.audit(Options{Ours: true})
	for _, f := range r.Findings {
		if f.URL == site+"/c" && f.Offset == int64(damaged) {
			t.Errorf("the record at %d is blamed for what another exchange lacks%s", damaged, shown(r))
		}
	}
	if !slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.URL == site+"/c" }) {
		t.Errorf("nothing says what /c lacks%s", shown(r))
	}
}
