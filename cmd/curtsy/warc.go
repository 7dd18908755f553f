package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/storage/warc"
)

// someFiles is for commands that take WARC files.
func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return nil
	}
	return fmt.Errorf("%s takes WARC files: write %s", cmd.Name(), cmd.UseLine())
}

// eachRecord reads the archive at path from its beginning and calls do for each record, until that returns an error.
func eachRecord(path string, found func(warc.Finding), do func(*warc.Record) error) error {
	if err := userfile.Readable(path); err != nil {
		return err
	}
	l, f, err := warc.LenientAt(path, 0, found)
	if err != nil {
		return unreadable(path, err)
	}
	defer f.Close() // only read
	for {
		rec, err := l.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return unreadable(path, err)
		}
		if err := do(rec); err != nil {
			return err
		}
	}
}

// sayWrong says how much is wrong with what was read all the same.
func sayWrong(say io.Writer, n int) {
	switch n {
	case 0:
	case 1:
		fmt.Fprintln(say, "curtsy: found one problem; see curtsy warc check")
	default:
		fmt.Fprintf(say, "curtsy: found %d problems; see curtsy warc check\n", n)
	}
}

func openWARC(path string) (*os.File, error) {
	f, err := userfile.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return f, nil
}

func unreadable(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return cli.Usagef("no file %s", path)
	}
	if fi, e := os.Stat(path); e == nil && fi.IsDir() {
		if fi, e := os.Stat(filepath.Join(path, crawldir.ArchiveName)); e == nil && fi.IsDir() {
			path = filepath.Join(path, crawldir.ArchiveName)
		}
		return cli.Usagef("%s is a folder: name the WARC files in it, as in %s", path, filepath.Join(path, "*.warc.gz"))
	}
	if userfile.Readable(path) != nil {
		return err // it says so itself
	}
	if p := (*os.PathError)(nil); errors.As(err, &p) && p.Path == path {
		return err
	}
	return fmt.Errorf("read %s: %w", path, err)
}
