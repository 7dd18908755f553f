package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// forgery is a crawl directory that can be changed and written again, as a forger would: digests and lengths of
// records are made to fit, the ledger's checkpoint is not.
type forgery struct {
	dir     string
	records []*forged
	ledger  []string // lines
	note    string   // its latest checkpoint
	was     string   // the records, as they were
}

// text renders the records.
func (e *forgery) text() string {
	var b strings.Builder
	for _, f := range e.records {
		fmt.Fprintf(&b, "%v\n%s\n", f.fields, f.block)
	}
	return b.String()
}

// forged is a record of the archive.
type forged struct {
	fields warc.Fields
	block  string
}

func (f *forged) get(name string) string { return f.fields.Get(name) }

func (f *forged) set(name, value string) {
	for i := range f.fields {
		if f.fields[i].Name == name {
			f.fields[i].Value = value
		}
	}
}

// replace changes the block.
func (f *forged) replace(t *testing.T, old, with string) {
	t.Helper()
	if !strings.Contains(f.block, old) {
		t.Fatalf("%q is not in %q", old, f.block)
	}
	f.block = strings.Replace(f.block, old, with, 1)
}

// readEvidence reads a finished crawl.
func readEvidence(t *testing.T, dir string) *forgery {
	t.Helper()
	e := &forgery{dir: dir}
	f, err := os.Open(filepath.Join(dir, crawldir.ArchiveName, "curtsy-00000.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := warc.NewReader(f); ; {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(rec.Block)
		if err != nil {
			t.Fatal(err)
		}
		e.records = append(e.records, &forged{slices.Clone(rec.Fields), string(b)})
	}
	b, err := os.ReadFile(filepath.Join(dir, crawldir.LedgerName, "000000.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	e.ledger = slices.Collect(strings.Lines(string(b)))
	if b, err = os.ReadFile(filepath.Join(dir, crawldir.LedgerName, ledger.CheckpointName)); err != nil {
		t.Fatal(err)
	}
	e.note, e.was = string(b), e.text()
	return e
}

// write makes a crawl directory like that of e, with what was changed.
func (e *forgery) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(e.dir)); err != nil {
		t.Fatal(err)
	}
	changed := e.text() != e.was
	var archive bytes.Buffer
	for _, f := range e.records {
		f.set("Content-Length", strconv.Itoa(len(f.block)))
		f.set("WARC-Block-Digest", fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(f.block))))
		if _, body, ok := strings.Cut(f.block, "\r\n\r\n"); ok && !strings.Contains(strings.ToLower(f.block), "transfer-encoding") {
			f.set("WARC-Payload-Digest", fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(body))))
		}
		z := gzip.NewWriter(&archive)
		fmt.Fprint(z, "WARC/1.1\r\n")
		for _, field := range f.fields {
			fmt.Fprintf(z, "%s: %s\r\n", field.Name, field.Value)
		}
		fmt.Fprintf(z, "\r\n%s\r\n\r\n", f.block)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{inDir(crawldir.LedgerName, "000000.jsonl"): strings.Join(e.ledger, ""), inDir(crawldir.LedgerName, ledger.CheckpointName): e.note}
	if changed {
		files[inDir(crawldir.ArchiveName, "curtsy-00000.warc.gz")] = archive.String()
	}
	for name, text := range files {
		if err := os.WriteFile(inDir(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// of returns the records of a type and URL, or of all URLs.
func (e *forgery) of(kind, url string) (all []*forged) {
	for _, f := range e.records {
		if f.get("WARC-Type") == kind && (url == "" || f.get("WARC-Target-URI") == url) {
			all = append(all, f)
		}
	}
	return all
}

// page returns the records of the nth page of a host: request, response and metadata.
func (e *forgery) page(t *testing.T, host string, nth int) []*forged {
	t.Helper()
	for i, f := range e.records {
		u := f.get("WARC-Target-URI")
		if f.get("WARC-Type") == "request" && strings.HasPrefix(u, "http://"+host+"/") && !strings.HasSuffix(u, "/robots.txt") {
			if nth--; nth == 0 {
				return e.records[i : i+3]
			}
		}
	}
	t.Fatalf("%s has too few pages", host)
	return nil
}

// drop takes records away.
func (e *forgery) drop(gone ...*forged) {
	e.records = slices.DeleteFunc(e.records, func(f *forged) bool { return slices.Contains(gone, f) })
}

// shift moves the dates of records.
func shift(t *testing.T, d time.Duration, fs ...*forged) {
	t.Helper()
	for _, f := range fs {
		at, err := time.Parse(time.RFC3339Nano, f.get("WARC-Date"))
		if err != nil {
			t.Fatal(err)
		}
		f.set("WARC-Date", at.Add(d).Format("2006-01-02T15:04:05.000000Z"))
	}
}

// robotsOf returns the records of a host's robots.txt.
func (e *forgery) robotsOf(host string) []*forged {
	u := "http://" + host + "/robots.txt"
	return slices.Concat(e.of("request", u), e.of("response", u), e.of("metadata", u))
}

// lineWith returns the index of the first line of the ledger that holds all of these.
func (e *forgery) lineWith(t *testing.T, parts ...string) int {
	t.Helper()
	i := slices.IndexFunc(e.ledger, func(line string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) })
	})
	if i < 0 {
		t.Fatalf("no line with %q", parts)
	}
	return i
}

// again writes the ledger anew, in segments of its own and with a log of its own, without the lines that drop says.
func (e *forgery) again(t *testing.T, dir string, size int64, drop func(storage.Line) bool) {
	t.Helper()
	var lines []storage.Line
	var bound, settings string
	for e, err := range ledger.Scan(inDir(dir, crawldir.LedgerName)) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Mark != nil && e.Mark.Kind == ledger.KindRun:
			bound, settings = e.Mark.Warcinfo, e.Mark.Settings
		case e.Mark == nil && e.Problem == nil:
			lines = append(lines, e.Line)
		}
	}
	if err := os.RemoveAll(inDir(dir, crawldir.LedgerName)); err != nil {
		t.Fatal(err)
	}
	w, err := ledger.Open(ledger.Options{Dir: inDir(dir, crawldir.LedgerName), SegmentSize: size, Warcinfo: bound, SettingsSHA256: settings})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if drop == nil || !drop(l) {
			if err := w.Append(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			if err := w.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, pattern := range []string{"warc/*.warc.gz", "index/*.cdxj"} { // with marks of the files as they are now
		files, err := filepath.Glob(inDir(dir, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err == nil {
				err = w.File(t.Context(), path.Join(path.Dir(pattern), filepath.Base(file)), int64(len(b)), fmt.Sprintf("%x", sha256.Sum256(b)))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// audited runs audit --json in this process.
func audited(t *testing.T, args ...string) (*audit.Result, int) {
	t.Helper()
	r := shared(t, append([]string{"audit", "--json"}, args...)...)
	var got audit.Result
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatalf("exit code %d: %v\n%s%s", r.code, err, r.out, r.err)
	}
	return &got, r.code
}

// violated lists the codes of violations.
func violated(r *audit.Result) (all []string) {
	for _, c := range r.Counts {
		if c.Found > c.Notes {
			all = append(all, string(c.Code))
		}
	}
	return all
}

// namedBy fails unless the audit ends with exit code 3 and names the code among its violations, in the text as well.
func namedBy(t *testing.T, code finding.Code, args ...string) {
	t.Helper()
	r, exit := audited(t, args...)
	if exit != cli.ExitFound || !slices.Contains(violated(r), string(code)) {
		b, _ := json.MarshalIndent(r.Findings, "", " ")
		t.Errorf("exit code %d, %v; want %s\n%.4000s", exit, violated(r), code, b)
	}
	if text := shared(t, append([]string{"audit"}, args...)...); text.code != cli.ExitFound || !strings.Contains(text.out, "  "+string(code)+": ") {
		t.Errorf("exit code %d\n%s", text.code, text.out)
	}
}

var (
	fetchTime = regexp.MustCompile(`fetchTimeMs: [0-9.]+`)
	firstByte = regexp.MustCompile(`firstByteTimeMs: [0-9.]+`)
)

// Each kind of violation, planted into the evidence of a crawl that was polite, is named; the evidence as it was is
// clean.
func TestAuditNamesWhatWasPlanted(t *testing.T) {
	if testing.Short() {
		t.Skip("a crawl at one exchange a second")
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "demo")
	ended(t, curtsy(t, "demo", "--quiet", "--dir", dir)).want(t, cli.ExitDone)

	const host = "station.test" // it asks for a Crawl-delay of nothing, and forbids /signal-box/
	robots := "http://" + host + "/robots.txt"
	t.Run("nothing", func(t *testing.T) {
		for _, d := range []string{dir, readEvidence(t, dir).write(t)} {
			if r, exit := audited(t, d); exit != cli.ExitDone || !r.Clean || r.Level != audit.SelfConsistent || r.Totals.Pages < 100 || r.Totals.Refusals == 0 ||
				r.Ledger == nil || r.Ledger.Agree != r.Ledger.Records+r.Ledger.Refusals {
				t.Errorf("exit code %d: %+v\n%+v\n%+v", exit, r.Totals, r.Ledger, r.Findings)
			} else if i := slices.IndexFunc(r.Hosts, func(h *audit.Host) bool { return h.Authority == "http://"+host }); i < 0 || r.Hosts[i].Dates == 0 || math.Abs(r.Hosts[i].Skew) > 2 {
				t.Errorf("server and crawler have one clock: %+v", r.Hosts)
			}
		}
	})
	for name, c := range map[string]struct {
		want  finding.Code
		plant func(t *testing.T, e *forgery)
	}{
		"a date shifted": {finding.Gap, func(t *testing.T, e *forgery) { shift(t, -700*time.Millisecond, e.page(t, host, 4)...) }},
		"a date shifted, as the ledger sees it": {finding.LedgerDiffers, func(t *testing.T, e *forgery) {
			shift(t, 500*time.Microsecond, e.page(t, host, 4)...)
		}},
		"a rule swapped": {finding.Disallowed, func(t *testing.T, e *forgery) {
			e.of("response", robots)[0].replace(t, "Disallow: /signal-box/", "Disallow: /           ")
		}},
		"rules in another order": {finding.Verdict, func(t *testing.T, e *forgery) {
			e.of("response", "http://market.test/robots.txt")[0].replace(t, "User-agent: *\nDisallow: /\n\nUser-agent: curtsy\nDisallow: /office/\n",
				"User-agent: curtsy\nDisallow: /office/\n\nUser-agent: *\nDisallow: /\n")
		}},
		"a verdict of another line": {finding.Verdict, func(t *testing.T, e *forgery) {
			for _, f := range e.of("metadata", "") {
				if strings.Contains(f.block, "robotsLine: ") && !strings.Contains(f.block, "decision: robots") {
					f.block = regexp.MustCompile(`robotsLine: \d+`).ReplaceAllString(f.block, "robotsLine: 99")
					return
				}
			}
			t.Fatal("no page of the demo was allowed by a line")
		}},
		"a robots record dropped": {finding.RobotsMissing, func(_ *testing.T, e *forgery) { e.drop(e.robotsOf(host)...) }},
		"robots.txt behind the pages": {finding.RobotsMissing, func(t *testing.T, e *forgery) {
			rs := e.robotsOf(host)
			e.drop(rs...)
			e.records = append(e.records, rs...)
			shift(t, time.Minute, rs...)
		}},
		"records reordered": {finding.BadRecord, func(t *testing.T, e *forgery) {
			p := e.page(t, host, 3)
			at := slices.Index(e.records, p[0])
			moved := slices.Clone(e.records[at : at+3])
			e.records = slices.Insert(slices.Delete(e.records, at, at+3), len(e.records)-3, moved...)
		}},
		"robots.txt out of order": {finding.RobotsUnreachable, func(t *testing.T, e *forgery) {
			e.of("response", robots)[0].replace(t, "200 OK", "503 No")
		}},
		"robots.txt of the day before": {finding.RobotsExpired, func(t *testing.T, e *forgery) { shift(t, -25*time.Hour, e.robotsOf(host)...) }},
		"a page dropped":               {finding.LedgerExtra, func(t *testing.T, e *forgery) { e.drop(e.page(t, host, 3)...) }},
		"a request dropped":            {finding.BadRecord, func(t *testing.T, e *forgery) { e.drop(e.page(t, host, 3)[0]) }},
		"Retry-After ignored": {finding.RetryAfter, func(t *testing.T, e *forgery) {
			e.page(t, host, 3)[1].replace(t, "HTTP/1.1 200 OK\r\n", "HTTP/1.1 503 Busy\r\nRetry-After: 60\r\n")
		}},
		"RateLimit ignored": {finding.Gap, func(t *testing.T, e *forgery) {
			e.page(t, host, 3)[1].replace(t, "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nRateLimit: \"p\";r=20;t=60\r\n")
		}},
		"Request-rate ignored": {finding.Gap, func(t *testing.T, e *forgery) {
			e.of("response", robots)[0].replace(t, "Disallow: /signal-box/", "Request-rate: 1/9     ")
		}},
		"slow answers ignored": {finding.Gap, func(t *testing.T, e *forgery) {
			for i := range 5 {
				m := e.page(t, host, 2+i)[2]
				m.block = firstByte.ReplaceAllString(fetchTime.ReplaceAllString(m.block, "fetchTimeMs: 400"), "firstByteTimeMs: 400")
			}
		}},
		"another who asked": {finding.GapTold, func(t *testing.T, e *forgery) {
			m := e.page(t, host, 3)[2]
			m.block = regexp.MustCompile(`paceBy: [a-z-]+`).ReplaceAllString(m.block, "paceBy: response time")
		}},
		"a pace that is none": {finding.BadRecord, func(t *testing.T, e *forgery) {
			e.page(t, host, 3)[2].replace(t, "paceMs: ", "paceMs: O")
		}},
		"two at a time": {finding.InFlight, func(t *testing.T, e *forgery) {
			m := e.page(t, host, 3)[2]
			m.block = fetchTime.ReplaceAllString(m.block, "fetchTimeMs: 2500")
		}},
		"another gap told": {finding.GapTold, func(t *testing.T, e *forgery) {
			m := e.page(t, host, 3)[2]
			m.block = regexp.MustCompile(`gapMs: [0-9.]+`).ReplaceAllString(m.block, "gapMs: 3000")
		}},
		"a browser's name": {finding.UserAgent, func(t *testing.T, e *forgery) {
			e.page(t, host, 3)[0].replace(t, "User-Agent: curtsy/"+crawldir.Version, "User-Agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0")
		}},
		"no name": {finding.UserAgent, func(t *testing.T, e *forgery) {
			e.page(t, host, 3)[0].replace(t, "User-Agent: curtsy/"+crawldir.Version+"\r\n", "")
		}},
		"a form sent": {finding.Method, func(t *testing.T, e *forgery) { e.page(t, host, 3)[0].replace(t, "GET ", "POST ") }},
		"one address for all": {finding.AddressPace, func(_ *testing.T, e *forgery) {
			for _, f := range e.records {
				f.set("WARC-IP-Address", "198.18.0.1")
			}
		}},
		"a line edited": {finding.LedgerLines, func(t *testing.T, e *forgery) {
			i := e.lineWith(t, host, `"decision":"allow"`)
			e.ledger[i] = strings.Replace(e.ledger[i], `"decision":"allow"`, `"decision":"allo2"`, 1)
		}},
		"a refusal taken out of the ledger": {finding.LedgerLines, func(t *testing.T, e *forgery) {
			i := e.lineWith(t, `"decision":"disallow"`)
			e.ledger = slices.Delete(e.ledger, i, i+1)
		}},
		"a refusal taken out of the archive": {finding.LedgerExtra, func(t *testing.T, e *forgery) {
			for _, f := range e.of("metadata", "") {
				lines := strings.SplitAfter(f.block, "\n")
				i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"decision":"disallow"`) })
				if i >= 0 && len(lines) > 2 {
					f.block = strings.Join(slices.Delete(lines, i, i+1), "")
					return
				}
			}
			t.Fatal("the archive has no refusal")
		}},
		"a signature of another": {finding.LedgerSigner, func(t *testing.T, e *forgery) {
			at := len(e.note) - 8
			other := map[bool]string{true: "B", false: "A"}[e.note[at] == 'A']
			e.note = e.note[:at] + other + e.note[at+1:]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := readEvidence(t, dir)
			c.plant(t, e)
			namedBy(t, c.want, e.write(t))
		})
	}
	t.Run("an octet changed", func(t *testing.T) {
		e := readEvidence(t, dir)
		planted := e.write(t)
		file := filepath.Join(planted, crawldir.ArchiveName, "curtsy-00000.warc.gz")
		e.page(t, host, 3)[1].replace(t, "<", "(")
		changeOctet(t, e, file)
		namedBy(t, finding.Digest, planted)
	})
	t.Run("a segment dropped", func(t *testing.T) {
		e := readEvidence(t, dir)
		planted := e.write(t)
		e.again(t, planted, 4<<10, nil)
		if r, exit := audited(t, planted); exit != cli.ExitDone || r.Ledger.Segments < 4 {
			t.Fatalf("exit code %d: %+v %+v", exit, r.Ledger, r.Findings)
		}
		segments, err := filepath.Glob(filepath.Join(planted, crawldir.LedgerName, "000002*"))
		if err != nil || len(segments) != 1 {
			t.Fatal(segments, err)
		}
		if err := os.Remove(segments[0]); err != nil {
			t.Fatal(err)
		}
		namedBy(t, finding.LedgerLines, planted)
		namedBy(t, finding.LedgerMissing, planted)
	})
	t.Run("a refusal taken out of a ledger that was forged whole", func(t *testing.T) {
		e := readEvidence(t, dir)
		planted := e.write(t)
		gone := 0
		e.again(t, planted, 0, func(l storage.Line) bool {
			if l.Decision == "disallow" {
				gone++
			}
			return l.Decision == "disallow" && gone == 1
		})
		namedBy(t, finding.LedgerMissing, planted)
	})
	t.Run("a lodged head", func(t *testing.T) { lodgedHead(t, dir) })
	t.Run("access logs", func(t *testing.T) { accessLogged(t, dir, host) })
}

// changeOctet writes the archive of e with the digests that stood in its records before.
func changeOctet(t *testing.T, e *forgery, file string) {
	t.Helper()
	var archive bytes.Buffer
	for _, f := range e.records {
		z := gzip.NewWriter(&archive)
		fmt.Fprint(z, "WARC/1.1\r\n")
		for _, field := range f.fields {
			fmt.Fprintf(z, "%s: %s\r\n", field.Name, field.Value)
		}
		fmt.Fprintf(z, "\r\n%s\r\n\r\n", f.block)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, archive.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// accessLogged: a log that tells of the same requests confirms the archive; one more or less is named.
func accessLogged(t *testing.T, dir, host string) {
	e := readEvidence(t, dir)
	var lines []string
	for i, f := range e.records {
		u := f.get("WARC-Target-URI")
		if f.get("WARC-Type") != "request" || !strings.HasPrefix(u, "http://"+host+"/") {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, f.get("WARC-Date"))
		if err != nil {
			t.Fatal(err)
		}
		request, _, _ := strings.Cut(f.block, "\r\n")
		lines = append(lines, fmt.Sprintf("198.18.0.9 - - [%s] \"%s\" %s 12 \"-\" \"curtsy/%s\"\n", at.Format("02/Jan/2006:15:04:05 -0700"), request, e.records[i+1].block[9:12], crawldir.Version))
	}
	log := func(lines ...string) string {
		path := filepath.Join(t.TempDir(), "access.log")
		if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
		return host + "=" + path
	}
	if r, exit := audited(t, "--access-log", log(lines...), dir); exit != cli.ExitDone || r.Level != audit.ConfirmedByLog || len(r.Logs) != 1 || r.Logs[0].Agree != int64(len(lines)) {
		t.Errorf("exit code %d: %s %+v", exit, r.Level, r.Findings)
	}
	namedBy(t, finding.LogMissing, "--access-log", log(slices.Delete(slices.Clone(lines), 3, 4)...), dir)
	namedBy(t, finding.LogExtra, "--access-log", log(append(slices.Clone(lines), strings.Replace(lines[3], "GET /", "GET /private", 1))...), dir)
	namedBy(t, finding.LogExtra, "--access-log", log(append(slices.Clone(lines), lines[3])...), dir)
	if r := shared(t, "audit", "--access-log", strings.TrimPrefix(log(lines...), host+"="), dir); r.code != cli.ExitUsage || !strings.Contains(r.err, "HOST=FILE") {
		t.Errorf("%+v", r)
	}
}
