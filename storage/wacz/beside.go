package wacz

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"curtsy/storage/cdxj"
	"curtsy/storage/sorted"
)

// beside compares the index and page lists, which players trust, with the archive. Both accounts are sorted into one.
type beside struct {
	p        *Package
	captures *sorted.Sorter // places of records, by archive and index
	pages    *sorted.Sorter // URLs and times, by archive and lists
	off      map[string]int // mismatches by file
}

const (
	sortLimit     = 8 << 20
	maxTold       = 20       // findings of a file
	bundleMaxLine = 16 << 20 // other tools' lists have the texts of pages
	byArchive     = "\x00a"
	byOthers      = "\x00o"
)

// isIndex reports whether a file of the package is an index. It excludes index.idx, which only has the places of blocks
// in index.cdx.gz.
func isIndex(name string) bool {
	return strings.HasPrefix(name, "indexes/") &&
		(strings.HasSuffix(name, ".cdxj") || strings.HasSuffix(name, ".cdx.gz") || strings.HasSuffix(name, ".cdxj.gz"))
}

func (p *Package) compareBeside(ctx context.Context) (err error) {
	b := &beside{p: p, captures: sorted.New(p.dir, sortLimit), pages: sorted.New(p.dir, sortLimit),
		off: map[string]int{}}
	defer func() { err = errors.Join(err, b.captures.Close(), b.pages.Close()) }()
	indexed := false
	for _, to := range p.beside {
		name := strings.TrimPrefix(p.names[to], p.name+":")
		take := b.page
		if isIndex(name) {
			take, indexed = b.line, true
		}
		if err := b.lines(ctx, to, name, take); err != nil {
			return err
		}
	}
	if !indexed && p.ours {
		p.bad("indexes/index.cdxj", "an index, which this crawler puts into every package", "it is missing")
	}
	if len(p.beside) == 0 {
		return nil
	}
	for _, file := range p.Files {
		if err := b.archived(ctx, file); err != nil {
			return err
		}
	}
	if err := b.settle(ctx, b.captures, indexed, "no record of that URL, time and digest"); err != nil {
		return err
	}
	return b.settle(ctx, b.pages, false, "no answer of that URL and time is archived")
}

// archived adds the captures of the archive. The audit reports damage.
func (b *beside) archived(ctx context.Context, file string) error {
	name := strings.TrimPrefix(b.p.names[file], b.p.name+":")
	return cdxj.Captures(ctx, file, func(l *cdxj.Line) error {
		l.Filename = name
		return errors.Join(b.captures.Add(b.capture(l, name, byArchive)),
			b.pages.Add(b.visit(l.URL, l.Time.Format("2006-01-02T15:04:05"), name, byArchive)))
	})
}

// capture formats a record's place and content; for other tools, with digests and times of many kinds, only its URL.
func (b *beside) capture(l *cdxj.Line, name, by string) []byte {
	what := ""
	if b.p.ours {
		what = fmt.Sprintf("\x00%s\x00%d\x00%d\x00%s", l.Key, l.Time.Unix(), l.Length, l.Digest)
	}
	return fmt.Appendf(nil, "%s\x00%d\x00%s%s%s\x00%s", path.Base(l.Filename), l.Offset, l.URL, what, by, name)
}

func (b *beside) visit(url, at, name, by string) []byte {
	if !b.p.ours {
		url, _, _ = strings.Cut(url, "#")
		at = ""
	}
	return fmt.Appendf(nil, "%s\x00%.19s%s\x00%s", url, at, by, name)
}

func (b *beside) line(name string, text []byte) error {
	if bytes.HasPrefix(text, []byte("!")) {
		return nil
	}
	l, err := cdxj.ParseLine(text)
	if err != nil {
		b.stray(name, "a line cannot be read: "+err.Error())
		return nil
	}
	return b.captures.Add(b.capture(&l, name, byOthers))
}

// page adds a line of a page list. Its first line describes the list.
func (b *beside) page(name string, text []byte) error {
	var of struct {
		Format string `json:"format"`
		URL    string `json:"url"`
		Time   string `json:"ts"`
	}
	if err := json.Unmarshal(text, &of); err != nil {
		b.stray(name, "a line cannot be read: "+err.Error())
		return nil
	}
	if of.Format != "" && of.URL == "" {
		return nil
	}
	return b.pages.Add(b.visit(of.URL, of.Time, name, byOthers))
}

func (b *beside) lines(ctx context.Context, file, name string, take func(name string, line []byte) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		fi, err := f.Stat()
		if err != nil {
			return err
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			b.stray(name, "it cannot be read: "+err.Error())
			return nil
		}
		in = io.LimitReader(z, fi.Size()*maxGrowth+spare)
	}
	var own error // not the file's
	err = scanLines(ctx, in, func(line []byte) error {
		own = take(name, line)
		return own
	})
	if own != nil || ctx.Err() != nil {
		return cmp.Or(own, ctx.Err())
	}
	if err != nil {
		b.stray(name, "it cannot be read to its end: "+err.Error())
	}
	return nil
}

func scanLines(ctx context.Context, r io.Reader, take func([]byte) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, bundleMaxLine)
	for in.Scan() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		if err := take(in.Bytes()); err != nil {
			return err
		}
	}
	return in.Err()
}

// settle compares the sorted accounts, with the archive's first. With whole, each record of this crawler's package must
// have exactly one line.
func (b *beside) settle(ctx context.Context, s *sorted.Sorter, whole bool, missing string) error {
	var last []byte
	var names []string // of the archive's files that have it
	lines := 0
	end := func() {
		if whole && b.p.ours && len(names) > lines {
			b.stray(names[0], "the index has no line for its record, "+words(last))
		}
		names, lines = nil, 0
	}
	for text, err := range s.All() {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		rest, name := cutLast(text)
		what, by := cutLast(rest)
		if !bytes.Equal(what, last) {
			end()
			last = append(last[:0], what...)
		}
		if string(by) == byArchive[1:] {
			if whole || len(names) == 0 {
				names = append(names, string(name))
			}
			continue
		}
		if lines++; len(names) == 0 || whole && b.p.ours && lines > len(names) {
			b.stray(string(name), words(what)+": "+missing)
		}
	}
	end()
	return nil
}

func cutLast(b []byte) (head, tail []byte) {
	at := bytes.LastIndexByte(b, 0)
	return b[:max(at, 0)], b[at+1:]
}

func words(b []byte) string { return short(strings.ReplaceAll(string(b), "\x00", " ")) }

// stray reports the first mismatches of a file and counts the rest. For other crawlers they are notes: their lists and
// indexes may follow other rules.
func (b *beside) stray(name, text string) {
	const asked = "an index and page lists that match the archive (reference of audit findings)"
	b.off[name]++
	switch n := b.off[name]; {
	case b.p.ours && n <= maxTold:
		b.p.bad(name, asked, text)
	case b.p.ours:
		b.p.check.Wrong++
	case n == 1:
		b.p.note(name, asked, "it has lines that do not match, first: "+text)
	}
}
