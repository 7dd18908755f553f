package audit

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
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

func TestReader_MergesConcurrentFiles(t *testing.T) {
	pages, policies := foreign(t), foreign(t)
	for i := range 40 {
		host := fmt.Sprintf("https://h%02d.test", i)
		policies.foreigner(host+"/robots.txt", time.Duration(i)*s, rule, true, true)
		pages.foreigner(host+"/a", time.Duration(i)*s+s/2, "page", true, true)
	}
	r := pages.audit(Options{Files: []string{policies.file()}})
	assert.Truef(t, r.Clean && r.Totals.Judged == 40, "%+v%s", r.Totals, shown(r))
	r = policies.audit(Options{Files: []string{pages.file()}})
	assert.Truef(t, r.Clean && r.Totals.Judged == 40, "the other way round: %+v%s", r.Totals, shown(r))
}

func TestRefusalsAreJudged(t *testing.T) {
	refusal := func(l storage.Line) string {
		l.Time = day0.Add(s)
		return "refusal: " + string(l.AppendJSON(nil)) + "\n"
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
		a.record("metadata", "", day0.Add(2*s), "Content-Type: application/warc-fields", c.lines)
		r := a.audit(Options{})
		if codes(r) != c.codes || r.Totals.Disallowed != c.avoided || r.Totals.Unprovable != c.unproved || len(r.Hosts) != 1 {
			t.Errorf("%s: %q, %+v%s", c.name, codes(r), r.Totals, shown(r))
		}
	}
}

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
		expect(t, want, a.audit(Options{}), name)
	}
}

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
		assert.Truef(t, r.Files[0].Torn && r.Totals.Notes == notes && r.Clean == (notes == 1), "%s: %+v, %+v%s", name, r.Files[0], r.Totals, shown(r))
	}
}

func TestNothingToAudit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.warc.gz")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err := Run(t.Context(), Options{Files: []string{path}})
	assert.ErrorIs(t, err, ErrNothing)
	_, err = Run(t.Context(), Options{Files: []string{path + ".not"}})
	assert.Error(t, err, "a missing file is not an error")
}

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
	require.GreaterOrEqualf(t, len(names), 40, "only %d names: %s", len(names), b)
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
			want := [...]string{"", site + "/robots.txt", site + "/a"}[(n+2)/3]
			assert.Truef(t, codes(r) == "record" && named == want, "record %d, byte %d: damage of %q%s", n, where, named, shown(r))
		}
		at = end
	}
}

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
		assert.Falsef(t, f.URL == site+"/c" && f.Offset == int64(damaged), "the record at %d is blamed for the loss of another exchange%s", damaged, shown(r))
	}
	assert.Truef(t, slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.URL == site+"/c" }), "no finding names the loss of /c%s", shown(r))
}

func (a *archive) sameAs(path string, at time.Duration, fields ...string) {
	when, url := day0.Add(at), site+path
	ip := "WARC-IP-Address: 198.18.9.9\r\n"
	id := a.record("revisit", url, when, ip+"WARC-Profile: "+evidence.ProfileIdentical+"\r\nContent-Type: application/http; msgtype=response\r\n"+
		strings.Join(fields, "\r\n"), "HTTP/1.1 200 X\r\n\r\n")
	a.record("request", url, when, ip+"Content-Type: application/http; msgtype=request\r\nWARC-Concurrent-To: <"+id+">",
		"GET "+path+" HTTP/1.1\r\nHost: bakery.test\r\nUser-Agent: "+lantern+"\r\n\r\n")
	a.record("metadata", url, when, "Content-Type: application/warc-fields\r\nWARC-Concurrent-To: <"+id+">", "fetchTimeMs: 100.000\r\n")
}

func TestRevisit_ComparedWithOriginal(t *testing.T) {
	const body, uri = "loaf", site + "/bread"
	first := day0.Add(2 * s).Format("2006-01-02T15:04:05.000000Z")
	sum, _ := hex.DecodeString(sha(body))
	other := "WARC-Payload-Digest: sha256:" + sha("cake")
	digest := "WARC-Payload-Digest: sha256:" + sha(body)
	to, from := "WARC-Refers-To: <ID>", "WARC-Refers-To-Target-URI: "+uri+"\r\nWARC-Refers-To-Date: "+first
	for name, c := range map[string]struct {
		fields        []string
		ours, foreign bool // whether it is found
	}{
		"all":                   {[]string{to, from, digest}, false, false},
		"in other letters":      {[]string{to, from, "WARC-Payload-Digest: SHA-256:" + strings.ToUpper(sha(body))}, false, false},
		"another payload":       {[]string{to, from, other}, true, true},
		"no id":                 {[]string{from, digest}, false, false},
		"no id, other payload":  {[]string{from, other}, true, false},
		"another URL":           {[]string{to, strings.Replace(from, "bread", "cakes", 1), digest}, true, false},
		"another date":          {[]string{to, strings.Replace(from, "12:00:02", "12:00:03", 1), digest}, true, false},
		"no URL and date":       {[]string{to, digest}, true, false},
		"no payload digest":     {[]string{to, from}, true, false},
		"of an earlier archive": {[]string{"WARC-Refers-To: <urn:test:elsewhere>", strings.Replace(from, "03-01", "02-01", 1), other}, false, false},
		"another algorithm":     {[]string{to, from, "WARC-Payload-Digest: sha1:" + base32.StdEncoding.EncodeToString(sum[:20])}, true, false},
	} {
		for which, make := range map[string]func(testing.TB, ...string) *archive{"ours": ours, "foreign": func(t testing.TB, _ ...string) *archive { return foreign(t) }} {
			a := make(t)
			a.robots("")
			id := a.add(fetch{url: uri, at: 2 * s, body: body})
			fields := append([]string(nil), c.fields...)
			fields[0] = strings.Replace(fields[0], "ID", id, 1)
			a.sameAs("/again", 5*s, fields...)
			want := c.foreign
			if which == "ours" {
				want = c.ours
			}
			r := a.audit(Options{})
			assert.Falsef(t, (codes(r) == "record") != want || !want && !r.Clean, "%s, %s: %q, want it found: %v%s", name, which, codes(r), want, shown(r))
		}
	}
}

func TestRobots_ARevisitHasTheRulesOfItsOriginal(t *testing.T) {
	const rules = "User-agent: *\nDisallow: /private\n"
	for payload, want := range map[string]string{rules: "disallowed", "another text": "record"} {
		a := foreign(t)
		id := a.add(fetch{url: site + "/robots.txt", body: rules})
		a.sameAs("/robots.txt", 25*time.Hour, "WARC-Refers-To: <"+id+">", "WARC-Payload-Digest: sha256:"+sha(payload))
		a.add(fetch{url: site + "/private/x", at: 26 * time.Hour})
		expect(t, want, a.audit(Options{}), payload)
	}
}

// oddTargets are targets that servers have and that net/url rejects or respells.
var oddTargets = []string{
	"/100%", "/100%.html", "/x%zz", "/%u0041", "/50%off.html", "/operator%.html", "/%", "/%2", "/a%%41", "/?q=%", "/?%zz=%u2212",
	"//x", "/a//b", "/[x]", "/{x}", "/a|b", "/a'b", "/;p=1", "/a^b", "/a%2fb%22", "/%C3", "/%00", "/?", "/a?b?c", "/~x", "/%7Ex",
}

func TestAudit_AcceptsAnyRequestedURL(t *testing.T) {
	a := ours(t)
	a.robots(rule)
	n := 0
	for i, target := range append(oddTargets, randomTargets(200)...) {
		u, err := canon.Parse(site + target)
		if err != nil {
			continue
		}
		n++
		at := time.Duration(1+i) * time.Minute
		a.add(fetch{url: u.String(), at: at, request: u.RequestURI(), meta: "decision: allow\r\nrobotsSha256: " + sha(rule) + "\r\n"})
	}
	r := a.audit(Options{})
	assert.Truef(t, r.Clean && r.Totals.Judged == int64(n) && r.Totals.Other == 0 && n >= 100, "%d URLs: %+v%s", n, r.Totals, shown(r))
	for _, target := range oddTargets {
		a := ours(t)
		a.add(fetch{url: site + "/robots.txt", status: 301, head: "Location: " + site + target + "\r\n"})
		u, err := canon.Parse(site + target)
		require.NoError(t, err)
		a.add(fetch{url: u.String(), at: 2 * s, body: rule})
		a.add(fetch{url: site + "/a", at: 4 * s, meta: "decision: allow\r\nrobotsSha256: " + sha(rule) + "\r\n"})
		a.add(fetch{url: site + "/private/x", at: 6 * s})
		r := a.audit(Options{})
		assert.Truef(t, codes(r) == "disallowed" && r.Hosts[0].Policy == "rules", "robots.txt at %s: %q%s", target, codes(r), shown(r))
	}
}

func randomTargets(n int) []string {
	r := rand.New(rand.NewPCG(1, 3))
	const octets = "%%%%ab09zZ/.;=&?~'|^`{}[]()<>\"\\ \x80\xc3\xa9\x01:@!$*+,-_"
	all := make([]string, n)
	for i := range all {
		b := []byte("/")
		for range r.IntN(20) {
			b = append(b, octets[r.IntN(len(octets))])
		}
		all[i] = string(b)
	}
	return all
}

func TestAnUnreadableURLIsNamed(t *testing.T) {
	for _, uri := range []string{"https://", "http:x%zz", "HTTP://?", "http://" + strings.Repeat("x", 300) + "/", site + "/" + strings.Repeat("x", evidence.MaxLength)} {
		for _, make := range []func(testing.TB) *archive{func(t testing.TB) *archive { return ours(t) }, foreign} {
			a := make(t)
			a.robots("")
			a.record("response", uri, day0.Add(2*s), "Content-Type: application/http; msgtype=response", "HTTP/1.1 200 OK\r\n\r\n")
			r := a.audit(Options{})
			assert.Truef(t, codes(r) == "record" && len(r.Findings) == 1 && strings.Contains(r.Findings[0].Observed, ": "), "%.40s: %q%s", uri, codes(r), shown(r))
		}
	}
}

func TestAudit_ReportsEveryWebRecord(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	for i := range seeds(600) {
		a := foreign(t)
		uri := pick("http", "https", "HTTP", "Https") + pick("://", "://", "://", ":", ":/", ":\\\\") +
			pick("bakery.test", "BAKERY.test:81", "[::1]", "user@h", "h%zz", "", "a b", "xn--x", "h:99999", "h:port") +
			pick("/", "", "?", "/100%.html", "/%u0041", "/a b", "/\x01", "//", "/\xff", "#x", "\\x")
		kind := pick("request", "response", "revisit", "resource", "conversion", "Response", "RESOURCE")
		media := pick("application/http", "application/http; msgtype=x", "APPLICATION/HTTP", "text/html", "")
		block := pick("HTTP/1.1 200 OK\r\n\r\nx", "GET / HTTP/1.1\r\n\r\n", "<p>", "")
		extra := "WARC-Profile: p\r\nWARC-Refers-To: <urn:x>"
		if media != "" {
			extra += "\r\nContent-Type: " + media
		}
		require.False(t, bytes.ContainsAny([]byte(uri), "\r\n"), "a line break in a field")
		a.record(kind, uri, day0, extra, block)
		got := a.audit(Options{})
		tot := got.Totals
		assert.Truef(t, tot.Exchanges+tot.Violations+tot.Unprovable != 0, "%d: a %s of %q, %q, is left out: %+v", i, kind, uri, media, tot)
	}
}

func TestMetadataIsReadUpToFourMiB(t *testing.T) {
	for meta, want := range map[string]string{
		strings.Repeat("x: y\r\n", 4<<20/6-1000): "", strings.Repeat("x: y\r\n", 4<<20/6+1): "record",
		"x: " + strings.Repeat("y", 4<<20-1000) + "\r\n": "", "x: " + strings.Repeat("y", 4<<20) + "\r\n": "record",
	} {
		a := ours(t)
		a.add(fetch{url: "http://a.test/robots.txt", status: 404})
		a.add(fetch{url: "http://a.test/", at: 2 * time.Second, meta: meta})
		expect(t, want, a.audit(Options{}), len(meta))
	}
}

func TestMetadataOfManyValuesIsReadInLinearTime(t *testing.T) {
	for _, field := range []string{"asked", "prefs"} {
		lines := strings.Repeat(field+": x\r\n", 40_000)
		a := ours(t)
		a.add(fetch{url: "http://a.test/robots.txt", status: 404})
		a.add(fetch{url: "http://a.test/", at: 2 * time.Second, meta: lines})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a.audit(Options{})
		runtime.ReadMemStats(&after)
		n := after.TotalAlloc - before.TotalAlloc
		assert.Truef(t, n <= 40<<20, "%s: allocated %d octets for a block of %d", field, n, len(lines))
	}
}

func longHeads() map[string]string {
	const room = storage.MaxHead - 200
	return map[string]string{
		"one line of 40,000 octets":  "Set-Cookie: a=" + strings.Repeat("x", 40_000) + "\r\n",
		"one line as long as may be": "X: " + strings.Repeat("x", room) + "\r\n",
		"many lines":                 strings.Repeat("X: 1\r\n", room/6),
		"many folds":                 "X: 1\r\n" + strings.Repeat("\tx\r\n", room/4),
		"a name as long":             strings.Repeat("X", room) + ": 1\r\n",
	}
}

func TestALongHeadIsRead(t *testing.T) {
	for name, long := range longHeads() {
		for _, head := range []string{long + "Cache-Control: max-age=600\r\n", "Cache-Control: max-age=600\r\n" + long} {
			a := ours(t)
			a.add(fetch{url: site + "/robots.txt", head: head, body: rule})
			a.add(fetch{url: site + "/private/open", at: 5 * s, meta: "decision: allow\r\n" + toldOpen + "robotsSha256: " + sha(rule) + "\r\n"})
			r := a.audit(Options{})
			assert.Truef(t, r.Clean && r.Hosts[0].Policy == "rules", "%s: %q%s", name, codes(r), shown(r))
			a.add(fetch{url: site + "/private/x", at: 20 * 60 * s})
			expect(t, "robots-expired disallowed", a.audit(Options{}), name)
		}
	}
}

type since struct {
	idle
	b strings.Builder
}

func (s *since) Exchange(_ context.Context, e *evidence.Exchange, _ finding.Report) error {
	if !e.Since.IsZero() {
		fmt.Fprintf(&s.b, "%s since %v\n", e.Target, e.Since.Sub(day0))
	}
	return nil
}

func TestAudit_ShorterRecordedDelayHintsAtLoss(t *testing.T) {
	for name, c := range map[string]struct {
		site, meta string
		want       string
		unprovable int64 // without a ledger
	}{
		"as the records show":             {site, "gapMs: 7900\r\n", "", 0},
		"within the tolerance for clocks": {site, "gapMs: 7892\r\n", "", 0},
		"shorter":                         {site, "gapMs: 2000\r\n", "/b since 2.1s\n", 1},
		"none":                            {site, "", "/b since 2.1s\n", 0},
		"the clock jumped":                {site, "gapMs: 2000\r\nclockAheadMs: 5900\r\n", "", 0},
		"the clock jumped by less":        {site, "gapMs: 2000\r\nclockAheadMs: 3000\r\n", "/b since 2.1s\n", 1},
		"an own host":                     {"http://127.0.0.1:8080", "gapMs: 2000\r\n", "", 0},
	} {
		for _, beside := range []bool{true, false} { // a ledger
			a := ours(t)
			a.add(fetch{url: c.site + "/robots.txt"})
			a.add(fetch{url: c.site + "/a", at: 2 * s, meta: "gapMs: 1900\r\n"})
			a.add(fetch{url: c.site + "/b", at: 10 * s, meta: c.meta})
			w := &since{}
			r := a.audit(Options{Ours: beside, Witnesses: []Witness{w}})
			want, unprovable := c.want, int64(0)
			if !beside {
				unprovable = c.unprovable
				if c.meta == "" {
					want = "" // a removed field without a value leaves no trace
				}
			}
			if got := w.b.String(); got != want || codes(r) != "" || r.Totals.Unprovable != unprovable {
				t.Errorf("%s, ledger %v: %q, want %q; %q, %d unprovable%s", name, beside, got, want, codes(r), r.Totals.Unprovable, shown(r))
			}
		}
	}
}
