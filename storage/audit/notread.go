package audit

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"curtsy/storage/audit/finding"
)

// NotRead names what lies in the folder of a crawl's archive, or below it, and is not among the files that are
// audited: a note, and a violation where it is a WARC file, for nobody would know of the exchanges in it. The crawl
// itself leaves files there behind damage and after a kill: they are notes.
func NotRead(dir string, files []string) Witness { return notRead{dir: dir, files: files} }

type notRead struct {
	Silent

	dir   string
	files []string
}

func (n notRead) Close(ctx context.Context, _ *Result, found finding.Report) error {
	return filepath.WalkDir(n.dir, func(path string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		top := filepath.Dir(path) == n.dir
		if err == nil && (e.IsDir() || slices.Contains(n.files, path) || top && segment.MatchString(e.Name())) {
			return nil
		}
		f := finding.Finding{Code: finding.BadRecord, Note: true, Place: finding.Place{File: path},
			Required: "nothing but segments, *.warc and *.warc.gz, in the folder of the archive (archive reference)"}
		switch {
		case err != nil:
			f.Observed = "it cannot be read: " + err.Error()
		case !e.Type().IsRegular():
			f.Observed = "it is not a regular file, and was not read"
		case top && leftOver.MatchString(e.Name()):
			f.Observed = "not read" + sized(e) +
				": a crawl leaves such files after damage (.cut), or after a kill during an append (.spool)"
		case isWARC(path):
			f.Note, f.Observed = false, "a WARC file that was not read: move it away, or audit it separately"
		default:
			f.Observed = "a file that was not read" + sized(e)
		}
		found(f)
		return nil
	})
}

// segment is what the files of an archive are called. One that was not there before is of a crawl that is running.
var segment = regexp.MustCompile(`\.warc(\.gz)?(\.open)?$`)

// leftOver is what else a crawl writes there: the damaged tail of a segment, and an exchange on its way into one.
var leftOver = regexp.MustCompile(`^curtsy-\d{5,}\.warc\.gz\.cut$|^curtsy\.\d+\.spool$`)

// sized tells a file's size.
func sized(e fs.DirEntry) string {
	fi, err := e.Info()
	if err != nil {
		return ""
	}
	return ", of " + strconv.FormatInt(fi.Size(), 10) + " bytes"
}

// isWARC reports whether a file begins as a WARC file does, plain or compressed by gzip or Zstandard.
func isWARC(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	in := bufio.NewReader(f)
	magic, _ := in.Peek(4) // a shorter file is not a WARC file
	// A Zstandard file may begin with a skippable frame, which holds a dictionary.
	skipped := len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18})
	if skipped || bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		return filepath.Ext(filepath.Base(path)) == ".zst"
	}
	var from io.Reader = in
	if bytes.HasPrefix(magic, []byte{0x1f, 0x8b}) {
		if from, err = gzip.NewReader(in); err != nil {
			return false
		}
	}
	var head [5]byte
	_, err = io.ReadFull(from, head[:])
	return err == nil && string(head[:]) == "WARC/"
}
