package cbcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// heads are the facts that stand in the heads of messages alone.
type heads struct {
	tokens []string // of the crawl, in lower case: whom X-Robots-Tag may mean

	tagged     int64 // answers with an X-Robots-Tag that asks the crawl for something
	keptBodies []Example
	unfollowed map[uint64]bool // pages, by URL, whose links are not to be followed
	followed   []Example

	secrets []Example // requests with credentials
	nSecret int64
	cookies int64 // requests with a Cookie

	stored      map[uint64]stored // answers that could be used again, by URL
	repeats     int64             // requests for such
	conditional int64             // of these
	wasted      []Example         // of these, those that a cache would have spared
	nWasted     int64
}

// maxHead bounds what is read of a message's head, in bytes. A head that is longer counts as far as it was read.
const maxHead = 64 << 10

// message is a head: the first line, and the fields by lower-case name.
type message struct {
	uri   string
	at    Example
	began time.Time
	first string
	field map[string][]string
}

func (m *message) has(name string) bool { return len(m.field[name]) > 0 }

// readHeads reads the heads of all messages in the files. The audit has read the files before, and named whatever is
// wrong with them.
func (f *facts) readHeads(ctx context.Context, files []string) error {
	for a := range f.agents {
		if t := evidence.TokenOf(a); t != "" {
			f.tokens = appendNew(f.tokens, t)
		}
	}
	for _, path := range files {
		if err := f.readFile(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

func appendNew(to []string, token string) []string {
	if token = strings.ToLower(token); slices.Contains(to, token) {
		return to
	}
	return append(to, token)
}

func (f *facts) readFile(ctx context.Context, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cbcp: %w", err)
	}
	defer in.Close()
	rd := warc.NewLenient(in, nil)
	buf := bufio.NewReaderSize(nil, 4<<10)
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("cbcp: read %s: %w", path, err)
		}
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cbcp: read %s: %w", path, err)
		}
		uri := rec.TargetURI()
		kind := strings.ToLower(rec.Type)
		if !evidence.IsHTTP(uri) || len(uri) > evidence.MaxLength {
			continue
		}
		buf.Reset(io.LimitReader(rec.Block, maxHead))
		m := &message{uri: uri, at: Example{URL: finding.Short(uri),
			Place: finding.Place{File: path, Offset: rec.Offset, Record: finding.Short(rec.ID())}}}
		m.began, _ = rec.Date() // the audit names one that cannot be read
		m.at.Time = m.began
		switch kind {
		case "request":
			if m.read(buf) {
				f.asked(m)
			}
		case "response", "revisit":
			if m.read(buf) && strings.HasPrefix(m.first, "HTTP/") {
				f.answer(m, kind, rec, buf)
			}
		case "metadata":
			m.first = "-"
			m.fields(buf)
			f.told(m)
		}
	}
}

// read reads a head, and reports whether it has a first line.
func (m *message) read(in *bufio.Reader) bool {
	line, err := in.ReadSlice('\n')
	if len(line) == 0 || err != nil {
		return false
	}
	m.first = strings.TrimSpace(string(line))
	m.fields(in)
	return m.first != ""
}

// wanted are the fields that count.
var wanted = map[string]bool{
	"x-robots-tag": true, "cache-control": true, "expires": true, "date": true, "age": true, "etag": true,
	"last-modified": true, "vary": true, "if-none-match": true, "if-modified-since": true, "authorization": true,
	"proxy-authorization": true, "cookie": true, "range": true, "via": true, "kind": true, "hopsfromseed": true,
}

// maxValues bounds how many fields of a name count.
const maxValues = 32

// fields reads lines up to an empty one. A line that goes on behind its buffer counts as far as that reaches.
func (m *message) fields(in *bufio.Reader) {
	m.field = map[string][]string{}
	for {
		line, err := in.ReadSlice('\n')
		name, value, ok := bytes.Cut(line, []byte(":"))
		if key := strings.ToLower(string(bytes.TrimSpace(name))); ok && wanted[key] && len(m.field[key]) < maxValues {
			m.field[key] = append(m.field[key], finding.Short(string(bytes.TrimSpace(value))))
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err != nil || len(bytes.TrimSpace(line)) == 0 {
			return
		}
	}
}

// asked takes the head of a request.
func (f *facts) asked(m *message) {
	if m.has("authorization") || m.has("proxy-authorization") {
		f.nSecret++
		m.at.Observed = "a request with credentials"
		add(&f.secrets, m.at)
	}
	if m.has("cookie") {
		f.cookies++
	}
	f.repeat(m)
}

// told takes what the crawl says of an exchange: whether it followed a link that it should not.
func (f *facts) told(m *message) {
	if !m.has("via") || !f.unfollowed[f.key(m.field["via"][0])] {
		return
	}
	link := m.has("kind") && m.field["kind"][0] == string(storage.KindLink)
	if hops := m.field["hopsfromseed"]; len(hops) > 0 { // of Heritrix: L for a link, E for an embed, R for a redirect
		link = strings.HasSuffix(hops[0], "L")
	}
	if link {
		m.at.Observed = "a link was followed from " + m.field["via"][0] + ", whose X-Robots-Tag has nofollow or none"
		add(&f.followed, m.at)
	}
}

// answer takes the head of an answer, in whose body buf stands.
func (f *facts) answer(m *message, kind string, rec *warc.Record, buf *bufio.Reader) {
	status := 0
	if _, rest, ok := strings.Cut(m.first, " "); ok && len(rest) >= 3 {
		_, _ = fmt.Sscanf(rest[:3], "%d", &status) // what is no number is no status
	}
	f.tags(m, kind == "response" && status == 200, buf)
	f.store(m, status, rec.Fields.Get("WARC-Truncated") == "")
}

// wishes are what an X-Robots-Tag asks for, as far as an archive can show whether it was heeded.
type wishes struct{ noarchive, nofollow, other bool }

// colons are the directives with a value of their own: what stands before their colon is no crawler's name.
var colons = []string{"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}

// read takes the value of a field. A name with a colon says whom the rest of the field is for: all else is for everyone.
func (w *wishes) read(value string, tokens []string) {
	if name, rest, ok := strings.Cut(value, ":"); ok && !strings.ContainsAny(name, ", ") {
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case slices.Contains(colons, name):
		case name == "robots" || name == "*" || slices.Contains(tokens, name):
			value = rest
		default:
			return
		}
	}
	for d := range strings.SplitSeq(strings.ToLower(value), ",") {
		switch strings.TrimSpace(d) {
		case "noarchive":
			w.noarchive = true
		case "nofollow", "none":
			w.nofollow = true
		case "", "all":
		default:
			w.other = true // noindex and the like bind whoever uses the archive
		}
	}
}

// tags takes the wishes of an answer. kept says that the archive may have its body, which is next in body.
func (f *facts) tags(m *message, kept bool, body *bufio.Reader) {
	var w wishes
	for _, v := range m.field["x-robots-tag"] {
		w.read(v, f.tokens)
	}
	k := f.key(m.uri)
	if !w.nofollow {
		delete(f.unfollowed, k)
	} else if len(f.unfollowed) < maxURLs {
		f.unfollowed[k] = true
	}
	if w == (wishes{}) {
		return
	}
	f.tagged++
	if !w.noarchive || !kept {
		return
	}
	if _, err := body.ReadByte(); err == nil {
		m.at.Observed = "the body is archived, and X-Robots-Tag has noarchive"
		add(&f.keptBodies, m.at)
	}
}

// stored is what a cache would know of a URL: the last two answers that it could store, for a request may stand in the
// archive behind its own answer.
type stored struct{ last, before copyOf }

// copyOf is one stored answer. The zero copyOf is none.
type copyOf struct {
	at        int64 // when it was asked for, in microseconds of Unix
	fresh     int64 // until when it need not be asked for again; 0 when the answer does not say
	validator bool  // a conditional request can be made of it
}

// store takes an answer (RFC 9111 3): one that is whole, and that nothing forbids to store.
func (f *facts) store(m *message, status int, whole bool) {
	k := f.key(m.uri)
	s, known := f.stored[k]
	now := m.began.UnixMicro()
	if m.began.IsZero() || known && now < s.last.at || !known && len(f.stored) >= maxURLs {
		return
	}
	c := copyOf{at: now, validator: m.has("etag") || m.has("last-modified")}
	if status == http.StatusNotModified { // RFC 9111 4.3.4: what was stored is as good as new
		c.validator = c.validator || s.last.validator
		status = http.StatusOK
	}
	control := directives(m.field["cache-control"])
	_, never := control["no-store"]
	star := strings.TrimSpace(strings.Join(m.field["vary"], ",")) == "*"
	if !whole || never || star || status != http.StatusOK && status != http.StatusNonAuthoritativeInfo {
		delete(f.stored, k)
		return
	}
	if _, always := control["no-cache"]; !always {
		c.fresh = now + lifetime(m, control).Microseconds()
	}
	f.stored[k] = stored{c, s.last}
}

// directives reads Cache-Control (RFC 9111 5.2). The first of a name counts.
func directives(values []string) map[string]string {
	all := map[string]string{}
	for _, v := range values {
		for d := range strings.SplitSeq(v, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(d), "=")
			if name = strings.ToLower(name); all[name] == "" {
				all[name] = strings.Trim(value, `"`)
			}
		}
	}
	return all
}

// maxLife is the longest that an answer counts as fresh: a year (RFC 9111 1.2.2 has more than anybody needs).
const maxLife = 365 * 24 * time.Hour

// lifetime is how long an answer is fresh from when it came (RFC 9111 4.2.1, 4.2.3). Guesses (4.2.2) are no directives.
func lifetime(m *message, control map[string]string) time.Duration {
	first := func(name string) string {
		if v := m.field[name]; len(v) > 0 {
			return v[0]
		}
		return ""
	}
	var life time.Duration
	if v, ok := control["max-age"]; ok {
		life = seconds(v)
	} else if until, err := http.ParseTime(first("expires")); err == nil {
		if date, err := http.ParseTime(first("date")); err == nil {
			life = until.Sub(date)
		}
	}
	return max(0, min(life, maxLife)-seconds(first("age")))
}

func seconds(s string) time.Duration {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0 // RFC 9111 4.2.1: what is invalid is stale
	}
	return min(time.Duration(n)*time.Second, maxLife)
}

// repeat takes a request for a URL: did a stored answer make it needless, or could it have been conditional?
func (f *facts) repeat(m *message) {
	s, known := f.stored[f.key(m.uri)]
	if !known || m.began.IsZero() || !strings.HasPrefix(m.first, "GET ") || isRobots(m.uri) || m.has("range") {
		return
	}
	now := m.began.UnixMicro()
	c := s.last
	if c.at >= now {
		c = s.before
	}
	if c.at == 0 || c.at >= now {
		return
	}
	f.repeats++
	switch {
	case m.has("if-none-match") || m.has("if-modified-since"):
		f.conditional++
		return
	case now < c.fresh:
		m.at.Observed = "requested again although the response of " + clock(c.at) + " was fresh until " + clock(c.fresh)
	case c.validator:
		m.at.Observed = "requested again without the validator of the response of " + clock(c.at)
	default:
		return
	}
	f.nWasted++
	add(&f.wasted, m.at)
}

func clock(micros int64) string { return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05Z") }

// isRobots reports whether a URL is that of a robots.txt, which has rules of its own (RFC 9309 2.4).
func isRobots(uri string) bool {
	path, _, _ := strings.Cut(uri, "?")
	return strings.HasSuffix(path, "/robots.txt") && strings.Count(path, "/") == 3
}
