package cbcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/weburl"
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
		if t := tokenOf(a); t != "" {
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
	token = strings.ToLower(token)
	for _, had := range to {
		if had == token {
			return to
		}
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
		if !weburl.IsHTTP(uri) || len(uri) > weburl.MaxLength {
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
