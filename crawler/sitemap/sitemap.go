package sitemap

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode"

	"curtsy/frontier/canon"
	"curtsy/storage/coding"
)

// MaxEntries and MaxSize are those of the protocol (https://www.sitemaps.org/protocol.html, "Using Sitemap index files").
const (
	MaxEntries = 50_000   // entries of one file
	MaxSize    = 50 << 20 // bytes of one file, without gzip

	maxToken = 256 << 10 // bytes of one tag, text or comment
	maxDepth = 64        // open elements
	maxLine  = 33 << 10  // bytes of an address: more than package canon accepts
	maxField = 64        // bytes of any other value
)

// Input is a file to read.
type Input struct {
	URL         canon.URL // base of relative addresses
	ContentType string    // only its charset matters
	Body        io.Reader

	// Also, if not nil, is called for further references of a feed, relative to base: enclosures, and in Atom (and
	// atom:link of RSS) further alternates, related documents, and the next document of the feed (RFC 5005). They do not
	// count as entries.
	Also func(base canon.URL, ref string)
}

// Entry is one listed address.
type Entry struct {
	URL canon.URL
	Map bool // of another sitemap, in an index

	// Claims of the site.
	LastMod    time.Time // zero: missing or invalid
	ChangeFreq string    // always, hourly, daily, weekly, monthly, yearly, never; or empty
}

// Format is the format of a file.
type Format string

// The formats.
const (
	None   Format = ""
	URLSet Format = "urlset"
	Index  Format = "index"
	RSS    Format = "rss"
	Atom   Format = "atom"
	Text   Format = "text"
)

// The reasons of refused entries, besides those of package canon.
const (
	ReasonTooMany  = "too many entries" // over MaxEntries
	ReasonNoURL    = "no address"
	ReasonSecond   = "second address" // of one entry
	ReasonEncoding = "encoding"       // the address has invalid bytes
)

// Report is the result of reading a file.
type Report struct {
	Format  Format
	Entries int            // passed on
	Refused map[string]int // other entries by reason
	Finding *Finding       // nil if the reading did not stop early
}

// Finding is the reason why the reading stopped early.
type Finding struct {
	Offset int64  // in bytes of the file without gzip and as UTF-8
	Reason string // one of the words below
	Detail string // of the decoder, or empty
}

// The reasons of findings.
const (
	FoundNoMap   = "no sitemap"
	FoundDamaged = "damaged"   // malformed XML
	FoundCut     = "cut off"   // incomplete
	FoundGzip    = "gzip"      // malformed gzip
	FoundLarge   = "too large" // over MaxSize
	FoundToken   = "too long"  // a tag, text or comment of more than 256 KiB
	FoundDeep    = "too deep"  // more than 64 elements within each other
)

func (f *Finding) String() string {
	s := fmt.Sprintf("%s at byte %d", f.Reason, f.Offset)
	if f.Detail != "" {
		s += ": " + f.Detail
	}
	return s
}

// Read reads a file and calls take for each entry, in order. The error is one of the body or of take.
func Read(in Input, take func(Entry) error) (Report, error) {
	p := &pass{in: in, take: take, report: Report{Refused: map[string]int{}}}
	err := p.read()
	if p.body.Err != nil {
		return p.report, fmt.Errorf("sitemap: read the body of %s: %w", in.URL, p.body.Err)
	}
	return p.report, err
}

type pass struct {
	in     Input
	take   func(Entry) error
	report Report
	body   *coding.Limited // separates errors of the body from those of the file
	octets *coding.Limited // without gzip
}

func (p *pass) read() error {
	p.body = &coding.Limited{Ctx: context.Background(), R: p.in.Body, Left: math.MaxInt64}
	plain := bufio.NewReaderSize(p.body, 4<<10)
	p.octets = &coding.Limited{Ctx: context.Background(), R: plain, Left: MaxSize}
	if head, _ := plain.Peek(2); string(head) == "\x1f\x8b" {
		p.octets.R = coding.NewReader(plain, []string{"gzip"}, nil)
	}
	text, isXML, err := decode(p.octets, p.in.ContentType)
	switch {
	case err != nil:
		p.stop(0, FoundNoMap, err.Error())
	case isXML:
		return p.readXML(text)
	default:
		return p.readText(text)
	}
	return nil
}

// stop sets the finding, unless there is one. An error of the bytes takes precedence over its consequences.
func (p *pass) stop(offset int64, reason, detail string) {
	switch {
	case p.report.Finding != nil:
		return
	case p.octets.Err != nil:
		reason, detail = FoundGzip, p.octets.Err.Error()
	case p.octets.Over:
		reason, detail = FoundLarge, fmt.Sprintf("over %d MiB", MaxSize>>20)
	}
	if len(detail) > maxDetail {
		detail = strings.ToValidUTF8(detail[:maxDetail], "") + "…"
	}
	detail = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?' // detail may quote the file
		}
		return r
	}, detail)
	p.report.Finding = &Finding{Offset: offset, Reason: reason, Detail: detail}
}

// maxDetail bounds Finding.Detail, which may quote the file.
const maxDetail = 120

// give passes on an entry whose address is ref, relative to base, or counts why not.
func (p *pass) give(base canon.URL, ref string, e Entry) error {
	if p.report.Entries >= MaxEntries {
		p.refuse(ReasonTooMany)
		return nil
	}
	if spoilt(ref) {
		p.refuse(ReasonEncoding)
		return nil
	}
	u, err := base.Resolve(ref)
	if err != nil {
		p.refuse(string(canon.ReasonOf(err)))
		return nil
	}
	p.report.Entries++
	e.URL = u
	return p.take(e)
}

func (p *pass) refuse(reason string) { p.report.Refused[reason]++ }

func (p *pass) readText(text *clean) error {
	p.report.Format = Text
	line := make([]byte, 0, 256)
	for {
		text.begin()
		b, err := text.ReadByte()
		end := err != nil
		if !end && b != '\n' && b != '\r' {
			if len(line) < maxLine {
				line = append(line, b)
			}
			continue
		}
		if len(bytes.Trim(line, " \t")) > 0 {
			// Use the zero URL as base: running text must not become a list of relative addresses.
			if err := p.give(canon.URL{}, strings.TrimFunc(string(line), around), Entry{}); err != nil {
				return err
			}
		}
		line = line[:0]
		if end {
			break
		}
	}
	if p.octets.Over || p.octets.Err != nil {
		p.stop(text.offset(), "", "")
	}
	if p.report.Entries == 0 && p.report.Finding == nil {
		p.stop(0, FoundNoMap, "no line is a URL")
	}
	return nil
}

// frequencies are the values of changefreq.
var frequencies = []string{"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}

// dates are the forms of lastmod (W3C Note datetime), of Atom (RFC 3339), and of RSS (RFC 822, with years of two and of
// four digits). Go accepts a fraction of a second with each.
var dates = []string{
	"2006-01-02", time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01", "2006",
	"2006-01-02T15:04:05", "2006-01-02 15:04:05",
	"Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700",
	"2 Jan 2006 15:04:05 MST",
	"Mon, 2 Jan 06 15:04:05 -0700", "Mon, 2 Jan 06 15:04:05 MST", "2 Jan 06 15:04:05 -0700", "2 Jan 06 15:04:05 MST",
	"Mon, 2 Jan 2006 15:04 -0700", "Mon, 2 Jan 2006 15:04 MST", "2 Jan 2006 15:04 -0700", "2 Jan 2006 15:04 MST",
	// RFC 822 5.1: seconds are optional
	"Mon, 2 Jan 06 15:04 -0700", "Mon, 2 Jan 06 15:04 MST", "2 Jan 06 15:04 -0700", "2 Jan 06 15:04 MST",
}

// dateOf parses a date; the zero time if it is invalid. The default zone is UTC.
func dateOf(s string) time.Time {
	s = strings.TrimSpace(s)
	for _, form := range dates {
		if t, err := time.Parse(form, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
