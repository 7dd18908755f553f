package excerpts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"curtsy/frontier/durable"
)

// Forget writes each file of a folder anew that has an excerpt of a record that is gone, without it: whole frames
// that have none stay octet for octet. What is damaged goes, too, for nobody knows what it holds; and a file without any
// excerpt left. To do it again changes nothing.
func Forget(ctx context.Context, dir string, gone func(ID) bool) error {
	names, err := files(dir)
	if err != nil {
		return fmt.Errorf("excerpts: %w", err)
	}
	for _, name := range names {
		if err := forget(ctx, filepath.Join(dir, name), gone); err != nil {
			return fmt.Errorf("excerpts: %s: %w", filepath.Join(dir, name), err)
		}
	}
	return drafts(dir)
}

func forget(ctx context.Context, path string, gone func(ID) bool) error {
	f, err := durable.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	stays, changes := false, false
	err = eachFrame(ctx, f, func(one *frame, _ int64, _ body) error {
		left := one.without(gone)
		stays = stays || left > 0
		changes = changes || left < len(one.entries)
		return nil
	})
	switch {
	case errors.Is(err, errDamaged):
		changes = true
	case err != nil:
		return err
	}
	switch {
	case !changes && stays:
		return nil
	case !stays:
		f.Close() // before it is removed: Windows removes no open file
		if err := os.Remove(path); err != nil {
			return err
		}
		return durable.Names(filepath.Dir(path))
	}
	return durable.File(path, func(w io.Writer) error {
		err := eachFrame(ctx, f, func(one *frame, at int64, b body) error { return one.rewrite(w, f, at, b, gone) })
		if errors.Is(err, errDamaged) {
			err = nil
		}
		f.Close() // before another file takes its name
		return err
	})
}

// eachFrame reads the heads of a file, up to the first that is damaged: then the error is errDamaged.
func eachFrame(ctx context.Context, f *os.File, see func(one *frame, at int64, b body) error) error {
	var one frame
	for at := int64(0); ; {
		b, next, err := one.readHead(f, at)
		switch {
		case errors.Is(err, errDamaged):
			return err
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := see(&one, at, b); err != nil {
			return err
		}
		at = next
	}
}

// without is how many excerpts are of records that are not gone.
func (f *frame) without(gone func(ID) bool) (n int) {
	for _, e := range f.entries {
		if !gone(e.id) {
			n++
		}
	}
	return n
}

// rewrite writes what stays of a frame.
func (f *frame) rewrite(w io.Writer, in io.ReaderAt, at int64, b body, gone func(ID) bool) error {
	switch left := f.without(gone); {
	case left == 0:
		return nil
	case left == len(f.entries):
		_, err := io.Copy(w, io.NewSectionReader(in, at, b.at+int64(b.size)-at))
		return err
	}
	if f.readBody(in, b) != nil {
		return nil // it goes, and the archive has it
	}
	var fresh frame
	for i, e := range f.entries {
		if charset, text, ok := f.of(i); ok && !gone(e.id) {
			fresh.add(e.id, charset, text)
		}
	}
	if len(fresh.entries) == 0 {
		return nil
	}
	fresh.pack()
	_, err := w.Write(fresh.packed)
	return err
}

// drafts removes what a kill left of files that were written anew.
func drafts(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.Type().IsRegular() && e.Name()[0] == '.' {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("excerpts: %w", err)
	}
	return nil
}
