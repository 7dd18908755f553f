package mirror

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"strings"
	"time"

	"curtsy/frontier/durable"
	"curtsy/storage/mirror/layout"
)

// The files of the mirror that are its own.
const (
	MapFile     = layout.MapFile     // see Entry
	MissingFile = layout.MissingFile // see Missing
)

// Entry is a line of the map: a URL that has a file. Lines are sorted by URL.
type Entry struct {
	URL      string `json:"url"`                // in its canonical form
	File     string `json:"file,omitempty"`     // slash-separated, below the mirror's directory
	In       string `json:"in,omitempty"`       // of earlier versions: the first page that holds what has no file
	Redirect string `json:"redirect,omitempty"` // the URL at the end of its redirects, whose file it is
	Status   int    `json:"status"`
	Type     string `json:"type,omitempty"`   // value of its Content-Type field, cut to 256 bytes
	Digest   string `json:"digest,omitempty"` // of the payload, as the archive has it
	Record   string `json:"record,omitempty"` // id of the record that has the body
	Date     string `json:"date,omitempty"`   // of that record
	Seen     string `json:"seen,omitempty"`   // when the URL was last answered so, if that is later
	Size     int64  `json:"size,omitempty"`   // of the file, in bytes; not where a line before or behind has the same file
	// Document says of a file in which references may stand whether they were replaced: Rewritten or Unread.
	Document string `json:"document,omitempty"`
	Older    string `json:"older,omitempty"` // "gone", "error" or "damaged": why an older answer stands here
}

// The values of Entry.Document, for a file in which references may stand.
const (
	Rewritten = "rewritten" // they were replaced
	Unread    = "unread"    // they were not: it is too large, or cannot be read
)

// maxMapLine is the most bytes of a line of a map or list of ours: a URL has at most 8 KiB, a name 2 KiB.
const maxMapLine = 256 << 10

// Map returns the lines of the mirror in dir, a tree with a map. Files that would not be in it are errors.
func Map(dir string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range readLines[Entry](filepath.Join(dir, MapFile)) {
			if err == nil && !local(e.File) && (e.File != "" || !local(e.In)) {
				err = fmt.Errorf("mirror: %s names the file %.100q, which no mirror can have", filepath.Join(dir, MapFile), e.File)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// local reports whether name is one that a mirror may have.
func local(name string) bool {
	return fs.ValidPath(name) && name != "." && path.Clean(name) == name && filepath.IsLocal(filepath.FromSlash(name)) &&
		!strings.ContainsAny(name, "\\\x00")
}

// MissingLines returns what the mirror in dir names and does not have.
func MissingLines(dir string) iter.Seq2[Missing, error] {
	return readLines[Missing](filepath.Join(dir, MissingFile))
}

// readLines reads a file of JSON lines. An error is the last.
func readLines[T any](path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		f, err := durable.Open(path) // a pipe would be waited for
		if err != nil {
			yield(zero, fmt.Errorf("mirror: %w", err))
			return
		}
		defer f.Close()
		in := bufio.NewScanner(f)
		in.Buffer(nil, maxMapLine)
		for row := 1; in.Scan(); row++ {
			var v T
			if err := json.Unmarshal(in.Bytes(), &v); err != nil {
				yield(zero, fmt.Errorf("mirror: %s: line %d: %w", path, row, err))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
		if err := in.Err(); err != nil {
			yield(zero, fmt.Errorf("mirror: %s: %w", path, err))
		}
	}
}

// marshal encodes a line. HTML is not escaped: nobody shows a line as it is.
func marshal(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// keyed puts a URL before its line, to sort by it.
func keyed(url, line string) string { return url + "\t" + line }

// writeSorted writes the lines of a sorter to w, without their keys.
func writeSorted(w io.Writer, s *sorter) error {
	b := bufio.NewWriterSize(w, 64<<10)
	err := s.each(func(line string) error {
		_, line, _ = strings.Cut(line, "\t")
		_, err := b.WriteString(line + "\n")
		return err
	})
	return errors.Join(err, b.Flush())
}

// dateForm is that of WARC-Date in our archives.
const dateForm = "2006-01-02T15:04:05.000000Z"

func dateOf(t time.Time) string { return t.UTC().Format(dateForm) }

// diff counts how two mirrors differ by their maps: by the digests of payloads.
func diff(before, after string, s *Summary) error {
	next, stop := iter.Pull2(Map(before))
	defer stop()
	old, err, more := next()
	for e, eerr := range Map(after) {
		if eerr != nil {
			return eerr
		}
		for ; more && err == nil && old.URL < e.URL; old, err, more = next() {
			s.Lost++
		}
		switch {
		case err != nil:
			return err
		case !more || old.URL != e.URL:
			s.New++
			continue
		case old.Digest != e.Digest || old.Redirect != e.Redirect:
			s.Differ++
		default:
			s.Unchanged++
		}
		old, err, more = next()
	}
	for ; more && err == nil; old, err, more = next() {
		s.Lost++
	}
	return err
}
