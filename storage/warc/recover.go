package warc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// recover completes the segments that were left open, removes spools left behind, and returns the number of the
// next segment. It can itself be interrupted at any point and repeated.
func (w *Writer) recover() (next int, err error) {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if isSpool(w.name, e.Name()) {
			if err := os.Remove(filepath.Join(w.dir, e.Name())); err != nil {
				return 0, err
			}
			continue
		}
		number, state, ok := segmentNumber(w.name, e.Name())
		if !ok {
			continue
		}
		next = max(next, number+1)
		if state == openSuffix {
			if err := w.mend(w.path(&segment{number: number})); err != nil {
				return 0, err
			}
		}
	}
	return next, syncDir(w.dir)
}

// mend cuts the open segment of path behind its last whole exchange and completes it, or removes it if it has none.
func (w *Writer) mend(path string) error {
	f, err := os.OpenFile(path+openSuffix, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	end, cause, err := whole(f)
	if err != nil {
		return fmt.Errorf("read %s%s: %w", path, openSuffix, err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if end < size {
		w.cutFile, w.cut = path, w.cut+size-end
		if cause != nil && !errors.Is(cause, io.ErrUnexpectedEOF) {
			if err := keep(f, end, path+cutSuffix); err != nil {
				return fmt.Errorf("keep the damaged tail of %s%s: %w", path, openSuffix, err)
			}
		}
		if err := f.Truncate(end); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil { // before the rename: Windows renames no open file
		return err
	}
	if end == 0 {
		return os.Remove(path + openSuffix)
	}
	return rename(path)
}

// whole returns the offset behind the last whole exchange of a segment, 0 if there is none, and what is wrong with
// the record behind it, nil if there is no more. The error is one of reading, which says nothing about the segment.
func whole(f io.Reader) (end int64, cause, err error) {
	rd := NewReader(f)
	for {
		rec, err := rd.Next()
		var at int64
		if err == nil {
			at, err = rd.End()
		}
		switch {
		case rd.src.err != nil:
			return 0, nil, rd.src.err
		case errors.Is(err, io.EOF):
			return end, nil, nil
		case err != nil:
			return end, err, nil
		}
		// A warcinfo record is not worth keeping alone, nor half an exchange: its request names the response.
		if rec.Type != "warcinfo" && (rec.Type != "request" || rec.ConcurrentTo() == "") {
			end = at
		}
	}
}

// keep copies f from offset at on to a new file of path, durably.
func keep(f *os.File, at int64, path string) (err error) {
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
	}()
	if _, err := io.Copy(out, f); err != nil {
		return err
	}
	return out.Sync()
}
