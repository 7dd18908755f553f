package audit

import (
	"encoding/base32"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"curtsy/storage/audit/evidence"
)

// sameAs adds a revisit with these fields, its request and what the crawl tells of it.
func (a *archive) sameAs(path string, at time.Duration, fields ...string) {
	when, url := day0.Add(at), site+path
	ip := "WARC-IP-Address: 198.18.9.9\r\n"
	id := a.record("revisit", url, when, ip+"WARC-Profile: "+evidence.ProfileIdentical+"\r\nContent-Type: application/http; msgtype=response\r\n"+
		strings.Join(fields, "\r\n"), "HTTP/1.1 200 X\r\n\r\n")
	a.record("request", url, when, ip+"Content-Type: application/http; msgtype=request\r\nWARC-Concurrent-To: <"+id+">",
		"GET "+path+" HTTP/1.1\r\nHost: bakery.test\r\nUser-Agent: "+lantern+"\r\n\r\n")
	a.record("metadata", url, when, "Content-Type: application/warc-fields\r\nWARC-Concurrent-To: <"+id+">", "fetchTimeMs: 100.000\r\n")
}

// A revisit must repeat what it refers to, where that is in the files: its payload, and in a crawl of ours its URL and date.
func TestARevisitIsHeldAgainstItsOriginal(t *testing.T) {
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
			if r := a.audit(Options{}); (codes(r) == "record") != want || !want && !r.Clean {
				t.Errorf("%s, %s: %q, want it found: %v%s", name, which, codes(r), want, shown(r))
			}
		}
	}
}

// A named field stands once in a record, but for those that may be repeated: readers differ in which they take.
func TestARepeatedFieldIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		field         string
		ours, foreign string // ours, and of others: a violation, a note, or nothing
	}{
		"another URL":            {"WARC-Target-URI: http://elsewhere.test/", "record", "record"},
		"in other letters":       {"warc-target-uri: http://elsewhere.test/", "record", "record"},
		"another payload digest": {"WARC-Payload-Digest: sha256:00", "record", "record"},
		"another type":           {"WARC-Type: resource", "record", "record"},
		"another length":         {"Content-Length: 3", "record", "record"},
		"the same type":          {"WARC-Type: response", "record", "note"},
		"a second concurrent":    {"WARC-Concurrent-To: <urn:x:1>\r\nWARC-Concurrent-To: <urn:x:2>", "", ""},
		"two protocols":          {"WARC-Protocol: h2\r\nWARC-Protocol: tls/1.3", "", ""},
		"an extension":           {"X-Mine: 1\r\nX-Mine: 2", "record", ""},
	} {
		for which, make := range map[string]func(testing.TB, ...string) *archive{"ours": ours, "foreign": func(t testing.TB, _ ...string) *archive { return foreign(t) }} {
			a := make(t)
			a.robots("")
			a.add(fetch{url: site + "/bread", at: 2 * s, body: "loaf", extra: c.field})
			want := c.foreign
			if which == "ours" {
				want = c.ours
			}
			r := a.audit(Options{})
			if got := codes(r); (want == "" && got != "") || want != "" && got != "record" || r.Clean != (want != "record") {
				t.Errorf("%s, %s: %q, want %q%s", name, which, got, want, shown(r))
			}
		}
	}
}

// A robots.txt that is archived as a revisit has the rules of the response that it repeats.
func TestRobots_ARevisitHasTheRulesOfItsOriginal(t *testing.T) {
	const rules = "User-agent: *\nDisallow: /private\n"
	for payload, want := range map[string]string{rules: "disallowed", "another text": "record"} {
		a := foreign(t)
		id := a.add(fetch{url: site + "/robots.txt", body: rules})
		a.sameAs("/robots.txt", 25*time.Hour, "WARC-Refers-To: <"+id+">", "WARC-Payload-Digest: sha256:"+sha(payload))
		a.add(fetch{url: site + "/private/x", at: 26 * time.Hour})
		if r := a.audit(Options{}); codes(r) != want {
			t.Errorf("payload %q: %q, want %q%s", payload, codes(r), want, shown(r))
		}
	}
}
