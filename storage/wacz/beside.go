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

// beside are the index and the lists of pages, which players believe: they are held against the archive. Accounts of
// both are sorted into one, so that what belongs together stands side by side.
type beside struct {
	p        *Package
	captures *sorted.Sorter // what stands where, by the archive and by the index
	pages    *sorted.Sorter // URLs and times, by the archive and by the lists
	off      map[string]int // by file, what is not so
}

const (
	sortLimit     = 8 << 20
	maxTold       = 20       // of a file
	bundleMaxLine = 16 << 20 // lists of other tools hold the texts of pages
	byArchive     = "\x00a"
	byOthers      = "\x00o"
)

// isIndex and isPages say what a file is by its name in the package. isIndex passes over index.idx, which only says
// where blocks of index.cdx.gz begin.
func isIndex(name string) bool {
	return strings.HasPrefix(name, "indexes/") &&
		(strings.HasSuffix(name, ".cdxj") || strings.HasSuffix(name, ".cdx.gz") || strings.HasSuffix(name, ".cdxj.gz"))
}

func isPages(name string) bool {
	return strings.HasPrefix(name, "pages/") && strings.HasSuffix(name, ".jsonl")
}

// compareBeside holds index and lists of pages against the archive.
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

// archived takes what the archive holds. The audit tells what is damaged.
func (b *beside) archived(ctx context.Context, file string) error {
	name := strings.TrimPrefix(b.p.names[file], b.p.name+":")
	return cdxj.Captures(ctx, file, func(l *cdxj.Line) error {
		l.Filename = name
		return errors.Join(b.captures.Add(b.capture(l, name, byArchive)),
			b.pages.Add(b.visit(l.URL, l.Time.Format("2006-01-02T15:04:05"), name, byArchive)))
	})
}

// capture is where a record stands, and what it is: of other tools, whose digests and times are of many kinds, its URL.
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

// page takes a line of a list of pages, of which the first says what the list is.
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
	var own error // ours, not the file's
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

// settle goes through sorted accounts. The archive's come first of what is the same. With whole, each record of a
// package of ours must have a line, and one only.
func (b *beside) settle(ctx context.Context, s *sorted.Sorter, whole bool, missing string) error {
	var last []byte
	var names []string // of the archive's files that hold it
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

// stray tells what is not so in a file, the first of it, and counts the rest. In packages of other crawlers that is no
// violation: what a list of theirs means, and how their index writes a URL, is theirs to say.
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
