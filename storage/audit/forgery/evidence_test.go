package forgery

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
	"curtsy/storage/redact"
	"curtsy/storage/warc"
)

type evidence struct {
	t       *testing.T
	records []*record
	book    []string          // lines of the ledger, each with its newline
	beside  map[string]string // the other files of the ledger's folder, by name
	files   map[string]string // the other files of the crawl directory, and its WARC file as it was, by name
	was     string            // the archive as it was, not compressed
	logs    map[string][]string

	changed bool                             // a row that changes nothing fails
	remade  bool                             // the ledger was remade, so that it contradicts only third-party copies
	torn    bool                             // the crawl was killed: no file has a mark
	omits   func(host string, line int) bool // the omissions of the map of hosts; nil for none
	more    map[string][]*record             // further files of the archive, by name
	alien   bool                             // the archive is another crawler's
	pack    *packed                          // the package of it, of which the forger changes files
	touched []exchange                       // which edits named
	show    []func(tr *trial)                // how it is shown, apart from a crawl directory
}

type record struct {
	fields warc.Fields
	block  string
	kept   bool // its digests stay, right or wrong
}

func (r *record) get(name string) string { return r.fields.Get(name) }
func (r *record) is(kind string) bool    { return r.get("WARC-Type") == kind }

func (r *record) set(name, value string) {
	for i := range r.fields {
		if strings.EqualFold(r.fields[i].Name, name) {
			r.fields[i].Value = value
			return
		}
	}
	r.fields = append(r.fields, warc.Field{Name: name, Value: value})
}

func (r *record) again(name, value string) {
	r.fields = append(r.fields, warc.Field{Name: name, Value: value})
}

func (r *record) del(name string) {
	r.fields = slices.DeleteFunc(r.fields, func(f warc.Field) bool { return strings.EqualFold(f.Name, name) })
}

func (r *record) clone() *record {
	return &record{fields: slices.Clone(r.fields), block: r.block, kept: r.kept}
}

func (e *evidence) text() string {
	var b strings.Builder
	for _, r := range e.records {
		fmt.Fprintf(&b, "%v %v\n%s\n", r.fields, r.kept, r.block)
	}
	fmt.Fprint(&b, e.book, e.logs, e.beside, e.files)
	if e.pack != nil {
		fmt.Fprint(&b, e.pack.names, e.pack.files)
	}
	return b.String()
}

func readEvidence(t *testing.T, dir string) *evidence {
	t.Helper()
	e := &evidence{t: t, beside: map[string]string{}, logs: map[string][]string{}}
	f, err := os.Open(filepath.Join(dir, "warc", "curtsy-00000.warc.gz"))
	require.NoError(t, err)
	defer f.Close()
	for r := warc.NewReader(f); ; {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		b, err := io.ReadAll(rec.Block)
		require.NoError(t, err)
		e.records = append(e.records, &record{fields: slices.Clone(rec.Fields), block: string(b)})
	}
	b, err := os.ReadFile(filepath.Join(dir, "ledger", "000000.jsonl"))
	require.NoError(t, err)
	e.book = slices.Collect(strings.Lines(string(b)))
	e.beside, e.files = filesIn(t, filepath.Join(dir, "ledger")), filesIn(t, dir)
	delete(e.beside, "000000.jsonl")
	for name := range e.files {
		if strings.HasPrefix(name, "ledger/") {
			delete(e.files, name)
		}
	}
	e.was = e.archive()
	return e
}

func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	from := os.DirFS(dir)
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(from, name)
		all[name] = string(b)
		return err
	})
	require.NoError(t, err)
	return all
}

const segment = "warc/curtsy-00000.warc.gz"

func (e *evidence) around() map[string]string {
	all := maps.Clone(e.files)
	if e.archive() != e.was {
		all[segment] = e.members()
	}
	for name, records := range e.more {
		all["warc/"+name] = text(records)
	}
	return all
}

func (e *evidence) write() string {
	dir := e.t.TempDir()
	for name, text := range e.around() {
		e.put(filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	if e.book != nil {
		e.put(filepath.Join(dir, "ledger", "000000.jsonl"), strings.Join(e.book, ""))
		for name, text := range e.beside {
			e.put(filepath.Join(dir, "ledger", filepath.FromSlash(name)), text)
		}
	}
	return dir
}

func (e *evidence) put(path, text string) {
	e.t.Helper()
	require.NoError(e.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(e.t, os.WriteFile(path, []byte(text), 0o644))
}

func (e *evidence) archive() string { return text(e.records) }

func text(records []*record) string {
	var b strings.Builder
	for _, r := range records {
		r.set("Content-Length", strconv.Itoa(len(r.block)))
		if !r.kept {
			r.digest()
		}
		b.WriteString("WARC/1.1\r\n")
		for _, f := range r.fields {
			b.WriteString(f.Name + ": " + f.Value + "\r\n")
		}
		b.WriteString("\r\n" + r.block + "\r\n\r\n")
	}
	return b.String()
}

func (r *record) digest() {
	if r.get("WARC-Block-Digest") != "" {
		r.set("WARC-Block-Digest", digest(r.block))
	}
	if r.get("WARC-Payload-Digest") != "" && r.is("response") && r.get("WARC-Truncated") == "" {
		r.set("WARC-Payload-Digest", digest(r.payload()))
	}
}

func digest(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }

func (r *record) payload() string {
	head, body, _ := strings.Cut(r.block, "\r\n\r\n")
	if !strings.Contains(strings.ToLower(head), "transfer-encoding: chunked") {
		return body
	}
	b, _ := io.ReadAll(httputil.NewChunkedReader(strings.NewReader(body))) // as much as remains of a cut one
	return string(b)
}

func (r *record) replace(t *testing.T, old, with string) {
	t.Helper()
	require.Containsf(t, r.block, old, "%q is not in %q", old, r.block)
	r.block = strings.Replace(r.block, old, with, 1)
}

func (r *record) field(t *testing.T, name, value string) {
	t.Helper()
	at := regexp.MustCompile(`(?m)^` + name + `: .*\r\n`)
	line := ""
	if value != "" {
		line = name + ": " + value + "\r\n"
	}
	if !at.MatchString(r.block) {
		r.block += line
		return
	}
	r.block = at.ReplaceAllLiteralString(r.block, line)
}

type exchange struct{ ask, answer, metadata *record }

func (x exchange) all() []*record {
	return slices.DeleteFunc([]*record{x.ask, x.answer, x.metadata}, func(r *record) bool { return r == nil })
}

func (x exchange) url() string { return x.ask.get("WARC-Target-URI") }

func (x exchange) id() string { return strings.Trim(x.answer.get("WARC-Record-ID"), "<>") }

func (x exchange) shift(t *testing.T, d time.Duration) {
	t.Helper()
	for _, r := range x.all() {
		r.set("WARC-Date", r.date(t).Add(d).Format(stamp))
	}
}

const stamp = "2006-01-02T15:04:05.000000Z"

func (x exchange) began(t *testing.T) time.Time { return x.metadata.date(t) }

func (r *record) date(t *testing.T) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, r.get("WARC-Date"))
	require.NoError(t, err)
	return at
}

func (e *evidence) exchanges(url string) (all []exchange) {
	for i := 0; i+2 < len(e.records); i++ {
		x := exchange{e.records[i], e.records[i+1], e.records[i+2]}
		if x.ask.is("request") && (x.answer.is("response") || x.answer.is("revisit")) && x.metadata.is("metadata") && (url == "" || x.url() == url) {
			all = append(all, x)
		}
	}
	return all
}

func (e *evidence) of(url string) exchange {
	e.t.Helper()
	all := e.exchanges(url)
	if len(all) == 0 {
		e.t.Fatalf("no exchange with %s was answered", url)
	}
	return all[len(all)-1]
}

func (e *evidence) revisit() exchange {
	e.t.Helper()
	all := e.exchanges("")
	i := slices.IndexFunc(all, func(x exchange) bool { return x.answer.is("revisit") })
	if i < 0 {
		e.t.Fatal("the crawl has no revisit")
	}
	return all[i]
}

func (e *evidence) kind(kind string) (all []*record) {
	for _, r := range e.records {
		if r.is(kind) {
			all = append(all, r)
		}
	}
	return all
}

func (e *evidence) refusals() *record {
	e.t.Helper()
	i := slices.IndexFunc(e.records, func(r *record) bool { return r.is("metadata") && strings.HasPrefix(r.block, "refusal: ") })
	if i < 0 {
		e.t.Fatal("the crawl refused nothing")
	}
	return e.records[i]
}

func (e *evidence) drop(gone ...*record) {
	e.records = slices.DeleteFunc(e.records, func(r *record) bool { return slices.Contains(gone, r) })
}

// The ledger as docs/reference/ledger.md describes it, written by a forger without package ledger.

var (
	lineCount = regexp.MustCompile(`,"lines":[0-9]+`)
	first     = regexp.MustCompile(`,"first":[0-9]+`)
	runKey    = regexp.MustCompile(`,"key":"[^"]*"`)
	hostsMark = regexp.MustCompile(`"size":[0-9]+,"hosts":[0-9]+,"root":"[0-9a-f]+"`)
)

// remake rebuilds the log of the lines, with a map of hosts and a checkpoint for each mark of hosts, and one at the
// end. Without a key nothing is signed. The tiles, which anybody can make, are left out.
func (e *evidence) remake(key *checkpoint.Signer) {
	e.remade = true
	e.beside = map[string]string{}
	e.mark()
	var log tree.Growing
	hosts := map[string]*hostmap.Entry{}
	var origin string
	lines := 0
	if n := len(e.book); n > 0 && !strings.HasPrefix(e.book[n-1], `{"mark":"hosts"`) {
		e.book = append(e.book, fmt.Sprintf(`{"mark":"hosts","time":%q,"size":0,"hosts":0,"root":"00"}`+"\n", e.end().Add(time.Minute).Format(stamp)))
	}
	for i, line := range e.book {
		body := strings.TrimSuffix(line, "\n")
		mark, ok := strings.CutPrefix(body, `{"mark":"`)
		switch {
		case strings.HasPrefix(mark, "begin") && ok:
			body = first.ReplaceAllString(body, fmt.Sprintf(`,"first":%d`, i))
			fallthrough
		case strings.HasPrefix(mark, "stop") && ok:
			body = lineCount.ReplaceAllString(body, fmt.Sprintf(`,"lines":%d`, lines))
		case strings.HasPrefix(mark, "run") && ok:
			body = runKey.ReplaceAllString(body, "")
			if key != nil {
				body = strings.TrimSuffix(body, "}") + fmt.Sprintf(`,"key":%q}`, key.VerifierKey())
			}
		case strings.HasPrefix(mark, "hosts") && ok:
			root, n := mapOf(hosts)
			body = hostsMark.ReplaceAllString(body, fmt.Sprintf(`"size":%d,"hosts":%d,"root":"%s"`, i, n, root))
		case !ok:
			lines++
		}
		var of struct{ URL, Origin string }
		if err := json.Unmarshal([]byte(body), &of); err != nil {
			e.t.Fatalf("%s: %v", body, err)
		}
		if origin == "" {
			origin = of.Origin
		}
		h := tree.EntryHash([]byte(body))
		log.Append(h)
		if host := hostmap.Host(of.URL); !ok && (e.omits == nil || !e.omits(host, i)) {
			if hosts[host] == nil {
				hosts[host] = &hostmap.Entry{Key: hostmap.Key(origin, host), Host: host}
			}
			hosts[host].Add(int64(i), h)
		}
		e.book[i] = body + "\n"
		if strings.HasPrefix(mark, "hosts") && ok {
			note, err := key.Sign(checkpoint.Checkpoint{Origin: origin, Size: log.Size(), Root: log.Root()})
			require.NoError(e.t, err)
			e.beside["checkpoint"], e.beside[fmt.Sprintf("checkpoints/%012d", log.Size())] = string(note), string(note)
			e.beside["hosts.jsonl"] = rowsOf(hosts)
		}
	}
}

func (e *evidence) mark() {
	if e.torn || len(e.book) == 0 {
		return
	}
	all := e.around()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !strings.HasPrefix(name, "warc/") && !strings.HasPrefix(name, "index/") {
			continue
		}
		of := fmt.Sprintf(`"name":%q,"octets":%d,"sha256":"%x"}`, name, len(all[name]), sha256.Sum256([]byte(all[name])))
		at := slices.IndexFunc(e.book, func(l string) bool {
			return strings.HasPrefix(l, `{"mark":"file"`) && strings.Contains(l, fmt.Sprintf(`"name":%q`, name))
		})
		if at >= 0 {
			before, _, _ := strings.Cut(e.book[at], `"name":`)
			e.book[at] = before + of + "\n"
			continue
		}
		line := fmt.Sprintf(`{"mark":"file","time":%q,`, e.end().Add(time.Minute).Format(stamp)) + of + "\n"
		if at = slices.IndexFunc(e.book, func(l string) bool { return strings.HasPrefix(l, `{"mark":"stop"`) }); at < 0 {
			at = len(e.book)
		}
		e.book = slices.Insert(e.book, at, line)
	}
}

func sorted(hosts map[string]*hostmap.Entry) []*hostmap.Entry {
	return slices.SortedFunc(maps.Values(hosts), func(a, b *hostmap.Entry) int { return bytes.Compare(a.Key[:], b.Key[:]) })
}

func mapOf(hosts map[string]*hostmap.Entry) (hostmap.Hash, int64) {
	root, n, _ := hostmap.Root(func(yield func(hostmap.Entry, error) bool) {
		for _, e := range sorted(hosts) {
			if !yield(*e, nil) {
				return
			}
		}
	})
	return root, n
}

func rowsOf(hosts map[string]*hostmap.Entry) string {
	var b strings.Builder
	for _, e := range sorted(hosts) {
		fmt.Fprintf(&b, `{"key":"%s","host":%q,"first":%d,"count":%d,"digest":"%s"}`+"\n", e.Key, e.Host, e.First, e.Count, e.Digest)
	}
	return b.String()
}

func (e *evidence) resign() { e.remake(operatorKey) }

func (e *evidence) line(parts ...string) int {
	e.t.Helper()
	i := slices.IndexFunc(e.book, func(line string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) })
	})
	if i < 0 {
		e.t.Fatalf("no line has %q", parts)
	}
	return i
}

func (e *evidence) lineOf(x exchange) int { return e.line(`"record":"` + x.id() + `"`) }

func (e *evidence) edit(i int, pattern, with string) {
	e.t.Helper()
	re := regexp.MustCompile(pattern)
	if !re.MatchString(e.book[i]) {
		e.t.Fatalf("%s is not in %s", pattern, e.book[i])
	}
	e.book[i] = re.ReplaceAllString(e.book[i], with)
}

func (e *evidence) value(i int, name, value string) {
	e.t.Helper()
	e.edit(i, `"`+name+`":("(\\.|[^"\\])*"|[^,}]*)`, `"`+name+`":`+strings.ReplaceAll(value, "$", "$$"))
}

func (e *evidence) cut(i int) { e.book = slices.Delete(e.book, i, i+1) }

func TestTakedown_IsHarmless(t *testing.T) {
	dir := crawl(t)
	var subjects []redact.Subject
	for _, x := range readEvidence(t, dir).exchanges("") {
		url := x.url()
		_, rest, _ := strings.Cut(url, "://")
		host, _, _ := strings.Cut(rest, "/")
		for _, s := range []redact.Subject{
			{Text: url, Covers: func(other string) bool { return other == url }},
			{Text: host, Covers: func(other string) bool { return strings.HasPrefix(other, "http://"+host+"/") }, Host: true},
		} {
			if !slices.ContainsFunc(subjects, func(o redact.Subject) bool { return o.Text == s.Text }) {
				subjects = append(subjects, s)
			}
		}
	}
	taken, every, least := 0, 1, 50
	if testing.Short() {
		every, least = 6, 2 // which of them these are is the order of the crawl
	}
	for i, s := range subjects {
		if i%every > 0 {
			continue
		}
		for _, all := range []bool{false, true} {
			after := t.TempDir()
			require.NoError(t, os.CopyFS(after, os.DirFS(dir)))
			if err := takeDown(t, after, s, all); errors.Is(err, redact.ErrNothing) || errors.Is(err, redact.ErrDone) {
				continue // a robots.txt stays with its host, and some bodies were not kept
			} else if err != nil {
				t.Fatal(err)
			}
			taken++
			r := directory(after).judge(t)
			assert.Truef(t, r.Clean, "%s, all of it %v: %v%s", s.Text, all, violations(r), findings(r))
		}
	}
	assert.GreaterOrEqualf(t, taken, least, "%d of %d subjects were taken down", taken, len(subjects))
}
