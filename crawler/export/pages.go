package export

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"curtsy/crawler/extract"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/mediatype"
	"curtsy/storage/spool"
	"curtsy/storage/tables"
	pagetext "curtsy/storage/text"
)

func pages(ctx context.Context, in *Inputs, out *Out) error {
	f := newFiller(&tables.Pages)
	return visit(ctx, in, out, visitor[tables.Row]{size: batchSize, take: out.Row, work: func(ctx context.Context, c *Capture) ([]tables.Row, error) {
		r := f.row()
		page, err := c.Page(ctx)
		if err != nil {
			return nil, err
		}
		r.url(c.Key, c.Index.URL)
		r.fetched(c, &page)
		if page.Is {
			r.says(&page)
		}
		l, ok := c.Decision()
		if ok {
			r.asked(&l)
			r.judged(&l)
			r.paced(&l)
		}
		if r.archived(c, l.Decision); subset(c, l.Decision) != "robotstxt" {
			r.language(page.Language)
		}
		return []tables.Row{r.r}, nil
	}})
}

func (r row) fetched(c *Capture, p *Page) {
	r.set("fetch_time", tables.Instant(c.Index.Time))
	status, media := c.Index.Status, c.Index.Mime
	if a := c.Answer; a != nil {
		status, media = a.Status, a.Type().Name
		r.set("content_truncated", tables.Some(a.Truncated))
		if target := locationOf(a.Status, a.Header, c.URL()); target != "" {
			r.set("fetch_redirect", tables.Text(target))
		}
	}
	if status <= 0 {
		status = -1
	}
	r.set("fetch_status", tables.Short(int16(min(status, math.MaxInt16)))) //nolint:gosec // bounded
	r.set("content_digest", tables.Some(c.Index.Digest))
	r.set("content_mime_type", tables.Some(media))
	r.set("content_mime_detected", tables.Some(p.Detected))
	r.set("content_charset", tables.Some(ianaName(p.Charset)))
	r.set("warc_filename", tables.Text(c.File))
	r.set("warc_record_offset", place(c.Index.Offset))
	r.set("warc_record_length", place(c.Index.Length))
	r.set("warc_segment", tables.Text(strings.TrimSuffix(c.Index.Filename, archiveEnd)))
	r.set("crawl", tables.Text(c.Crawl.Name))
}

// place returns an offset or a length; -1 if Common Crawl's column cannot have it.
func place(n int64) tables.Value {
	if n > math.MaxInt32 {
		n = -1
	}
	return tables.Int(int32(n)) //nolint:gosec // bounded
}

// locationOf returns the target of a redirect: as written if it is not a URL of the web.
func locationOf(status int, h http.Header, from canon.URL) string {
	ref := h.Get("Location")
	if status < 300 || status > 399 || ref == "" {
		return ""
	}
	if u, err := from.Resolve(strings.TrimSpace(ref)); err == nil {
		return u.String()
	}
	return ref
}

func (r row) says(p *Page) {
	r.set("title", tables.Some(p.Title))
	r.set("description", tables.Some(p.About))
	r.set("canonical_link", tables.Some(p.Canonical.String()))
	r.set("charset", tables.Some(p.Charset))
	r.set("charset_by", tables.Some(string(p.CharsetBy)))
	r.set("text_length", tables.Long(p.TextLength))
	if h := p.Sketch.Simhash; h != 0 {
		r.set("simhash", tables.Long(int64(h))) //nolint:gosec // only the bits count
	}
}

// asked sets the reason for the request, and the outcome.
func (r row) asked(l *storage.Line) {
	r.set("depth", whole32(int64(l.Depth)))
	r.set("via", tables.Some(l.Via))
	r.set("kind", tables.Some(string(l.Kind)))
	r.set("seed", tables.Some(l.Seed))
	r.set("tag", tables.Some(l.Tag))
	if l.Attempt > 0 {
		r.set("attempt", whole32(int64(l.Attempt)))
		r.set("retry", tables.Flag(l.Attempt > 1))
	}
	r.set("outcome", tables.Some(string(l.Outcome)))
	r.set("reason", tables.Some(l.Reason))
	r.set("change", tables.Some(string(l.Change)))
	r.set("own_host", tables.Flag(l.Own))
	r.set("directives", tables.Some(l.Directives))
	if l.Prefs != "" {
		r.set("preferences", tables.Texts(strings.Split(l.Prefs, "\n")))
	}
}

func (r row) judged(l *storage.Line) {
	r.set("robots_verdict", tables.Some(string(l.Decision)))
	r.set("robots_rule", tables.Some(l.RobotsRule))
	if l.RobotsLine > 0 {
		r.set("robots_line", whole32(int64(l.RobotsLine)))
	}
	r.set("robots_group", tables.Some(l.RobotsGroup))
	r.set("robots_sha256", tables.Some(l.RobotsSHA256))
	r.set("robots_standard", tables.Some(l.Standard))
}

func (r row) paced(l *storage.Line) {
	if l.PaceBy != "" {
		r.set("pace_ms", millis(l.Pace))
		r.set("pace_by", tables.Text(string(l.PaceBy)))
	}
	r.set("gap_ms", unlessZero(l.Gap))
	r.set("rest_ms", unlessZero(l.Rest))
	r.set("rest_by", tables.Some(string(l.RestBy)))
	r.set("took_ms", millis(l.Took))
	r.set("first_byte_ms", unlessZero(l.FirstByte))
}

func (r row) archived(c *Capture, decision storage.Decision) {
	if a := c.Answer; a != nil {
		r.set("began", tables.Instant(a.Date))
		r.set("record_id", tables.Some(a.ID))
		r.set("revisit", tables.Flag(a.Revisit))
		if a.Revisit {
			r.set("refers_to_url", tables.Some(a.Refers.URL))
			r.set("refers_to_time", tables.Instant(a.Refers.Date))
		}
	}
	if g := c.Crawl.generations[c.Index.Filename]; g > 0 {
		r.set("generation", tables.Long(g))
	}
	r.set("subset", tables.Text(subset(c, decision)))
	r.set("problem", tables.Some(c.Problem))
}

// subset returns Common Crawl's subset of a capture.
func subset(c *Capture, decision storage.Decision) string {
	status := c.Index.Status
	if c.Answer != nil {
		status = c.Answer.Status
	}
	isRobots := decision == storage.DecisionRobots
	if decision == "" {
		u := c.URL()
		isRobots = u.RequestURI() == "/robots.txt"
	}
	switch {
	case isRobots:
		return "robotstxt"
	case status >= 200 && status <= 299:
		return "warc"
	}
	return "crawldiagnostics"
}

// whole32 returns the nearest number that the column can have.
func whole32(n int64) tables.Value {
	return tables.Int(int32(min(max(n, math.MinInt32), math.MaxInt32))) //nolint:gosec // bounded
}

func millis(d time.Duration) tables.Value { return tables.Float(float64(d.Microseconds()) / 1000) }

func unlessZero(d time.Duration) tables.Value {
	if d == 0 {
		return tables.Null()
	}
	return millis(d)
}

// hostParts are the columns for the last five parts of a host name, last part first.
var hostParts = [...]string{
	"url_host_tld", "url_host_2nd_last_part", "url_host_3rd_last_part", "url_host_4th_last_part",
	"url_host_5th_last_part",
}

// url sets the columns of a URL, as Common Crawl's HostName and WarcUri do.
func (r row) url(key, url string) {
	r.set("url_surtkey", tables.Text(key))
	r.set("url", tables.Text(url))
	u, err := canon.Parse(url)
	if err != nil { // no crawl requests it
		scheme, rest, _ := strings.Cut(url, ":")
		r.set("url_protocol", tables.Text(scheme))
		r.set("url_host_name", tables.Text(""))
		r.set("url_path", tables.Text(rest))
		return
	}
	a := u.Authority()
	r.set("url_host_name", tables.Text(a.Host()))
	r.set("url_protocol", tables.Text(u.Scheme()))
	if a.HostPort() != a.Host() {
		r.set("url_port", portOf(a))
	}
	r.set("url_path", tables.Text(u.Path()))
	if _, query, ok := strings.Cut(u.RequestURI(), "?"); ok {
		r.set("url_query", tables.Text(query))
	}
	if _, isAddress := a.Addr(); isAddress {
		return
	}
	parts := strings.Split(a.Host(), ".")
	slices.Reverse(parts)
	for i, name := range hostParts[:min(len(parts), len(hostParts))] {
		r.set(name, tables.Text(parts[i]))
	}
	r.set("url_host_name_reversed", tables.Text(strings.Join(parts, ".")))
	registry, private := a.Suffixes()
	r.set("url_host_registry_suffix", tables.Some(registry.Suffix))
	r.set("url_host_registered_domain", tables.Some(registry.Domain))
	r.set("url_host_private_suffix", tables.Some(private.Suffix))
	r.set("url_host_private_domain", tables.Some(private.Domain))
}

func portOf(a canon.Authority) tables.Value {
	n, err := strconv.ParseInt(a.Port(), 10, 32)
	if err != nil {
		return tables.Null()
	}
	return tables.Int(int32(n))
}

// spelt are names of the Encoding Standard that IANA does not write in capitals, or names differently.
var spelt = map[string]string{
	"gb18030": "GB18030", "gbk": "GBK", "big5": "Big5", "euc-jp": "EUC-JP", "euc-kr": "EUC-KR", "shift_jis": "Shift_JIS",
	"koi8-r": "KOI8-R", "koi8-u": "KOI8-U", "macintosh": "macintosh", "ibm866": "IBM866", "x-mac-cyrillic": "x-mac-cyrillic",
	"x-user-defined": "x-user-defined", "replacement": "replacement", "iso-8859-8-i": "ISO-8859-8-I",
}

// ianaName returns IANA's spelling of a charset of the Encoding Standard, as in Common Crawl.
func ianaName(name string) string {
	switch iana, ok := spelt[name]; {
	case ok:
		return iana
	case strings.HasPrefix(name, "windows-"):
		return name
	}
	return strings.ToUpper(name)
}

// Page is the content of a capture.
type Page struct {
	extract.Page
	Detected   string // media type by the first bytes, or the server's; empty without a body
	Is         bool   // a page that was read; otherwise only Detected and, for plain text, Language are set
	TextLength int64  // bytes of its text, the words joined by single spaces
	Sketch     Sketch
	Language   pagetext.Result // as in the table text; none with Inputs.NoLanguage
}

const (
	maxPage   = extract.MaxParse + 1
	smallPage = 512 << 10 // largest page that is read into memory before parsing
)

// Page reads the body.
func (c *Capture) Page(ctx context.Context) (p Page, err error) {
	body, err := c.Body(maxPage)
	if body == nil {
		return p, err
	}
	in := bufio.NewReaderSize(body, mediatype.MaxSniff)
	_, p.Detected, p.Is = c.media(in)
	r := c.r
	if !p.Is {
		if c.isPlain() && !r.in.NoLanguage {
			p.Language, err = c.language(ctx, in)
		}
		return p, err
	}
	var says *Reader // nil for a URL that is not of the web
	if u := c.URL(); !u.IsZero() {
		says = newNeardupReader(u)
	}
	input := extract.Input{
		URL: c.URL(), ContentType: mediatype.Value(c.Answer.Header), Header: c.Answer.Header,
		Text: func(s string) {
			for word := range strings.FieldsSeq(s) {
				if p.TextLength > 0 {
					p.TextLength++
				}
				p.TextLength += int64(len(word))
			}
			if says != nil {
				says.Text(s)
			}
		},
	}
	if err := r.fill(&input, in); err != nil {
		return Page{}, err
	}
	release, err := r.pages.Turn(ctx, input.Size)
	if err != nil {
		return Page{}, fmt.Errorf("export: %w", err)
	}
	defer release()
	input.Turn = true
	if !r.in.NoLanguage {
		read := spool.Spool{Dir: r.in.temp}
		defer func() { err = errors.Join(err, read.Close()) }()
		if p.Language, err = c.language(ctx, io.TeeReader(input.Body, &read)); err != nil {
			return Page{}, err
		}
		input.Body = io.MultiReader(read.Section(), input.Body)
	}
	p.Page, err = r.pages.HTML(ctx, input)
	if err != nil {
		return Page{}, fmt.Errorf("export: %w", err)
	}
	if p.Unparsed != "" {
		c.amiss(ProblemUnparsed)
	}
	if says != nil {
		p.Sketch = says.Sketch(p.Links)
	}
	return p, nil
}

func (c *Capture) language(ctx context.Context, body io.Reader) (pagetext.Result, error) {
	p, err := pagetext.Read(ctx, c.textInput(body, true))
	return p.Language, err
}

// fill sets the body of in. A small page is in memory, with its size, which saves the extractor much work.
func (r *reader) fill(in *extract.Input, body io.Reader) error {
	if r.body == nil {
		r.body = make([]byte, smallPage)
	}
	n, err := io.ReadFull(body, r.body)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		in.Body, in.Size = bytes.NewReader(r.body[:n]), int64(n)
	case err != nil:
		return fmt.Errorf("export: %w", err)
	default:
		in.Body = io.MultiReader(bytes.NewReader(r.body), &upTo{body})
	}
	return nil
}

// upTo ends where a body exceeds the limit, which the extractor reports.
type upTo struct{ r io.Reader }

func (u *upTo) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// sniffed returns the media type by the first bytes of a body, or else the server's; empty without a body.
func sniffed(t mediatype.Type, head []byte) string {
	if len(head) == 0 {
		return ""
	}
	if s := mediatype.Sniff(head); s != "" {
		return s
	}
	if t.Name != "" {
		return t.Name
	}
	if utf8.Valid(head) && bytes.IndexByte(head, 0) < 0 {
		return "text/plain"
	}
	return "application/octet-stream"
}
