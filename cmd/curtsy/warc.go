package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/storage/cdxj"
	"curtsy/storage/mediatype"
	"curtsy/storage/plainly"
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

// listed is a record in the list, and its JSON form.
type listed struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Within int64  `json:"within,omitempty"` // octets into the decompressed member
	Type   string `json:"type"`
	ID     string `json:"id,omitempty"`
	Date   string `json:"date,omitempty"`
	Status int    `json:"status,omitempty"`
	Media  string `json:"media,omitempty"`
	Length int64  `json:"length"`
	URL    string `json:"url,omitempty"`
}

func newList(std cli.Streams) *cobra.Command {
	var asJSON bool
	cmd := cli.Command("warc ls", cli.Flags{"json": &asJSON})
	cmd.Args = someFiles
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		w := bufio.NewWriter(std.Out)
		lost := 0
		for _, path := range args {
			found := func(f warc.Finding) {
				if !f.Note() {
					lost++
				}
			}
			any := false
			err := eachRecord(path, found, func(r *warc.Record) error {
				any = true
				return printListed(w, describe(path, r), asJSON, len(args) > 1)
			})
			if err == nil && !any {
				err = fmt.Errorf("no WARC record in %s", path)
			}
			if err != nil {
				_ = w.Flush() // what was found comes before what went wrong
				return err
			}
		}
		sayWrong(std.Err, lost)
		return w.Flush()
	}
	return cmd
}

// describe reads as much of a record as its line says.
func describe(path string, r *warc.Record) listed {
	l := listed{
		File: path, Offset: r.Offset, Within: r.Within, Type: r.Type, ID: r.ID(), Date: r.Fields.Get("WARC-Date"),
		Length: r.Length, URL: r.TargetURI(),
	}
	l.Media = mediatype.Parse(r.Fields.Get("Content-Type")).Name
	if (r.Type == "response" || r.Type == "revisit") && l.Media == "application/http" {
		b, _ := io.ReadAll(io.LimitReader(r.Block, 32<<10)) // a torn block has a head all the same
		if end := bytes.Index(b, []byte("\r\n\r\n")); end >= 0 {
			b = b[:end]
		}
		l.Status, l.Media = warc.StatusAndType(b)
	}
	return l
}

func printListed(w io.Writer, l listed, asJSON, named bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(l)
	}
	columns := []string{
		strconv.FormatInt(l.Offset, 10), l.Type, l.Date, strconv.Itoa(l.Status), l.Media, strconv.FormatInt(l.Length, 10), l.URL,
	}
	if l.Status == 0 {
		columns[3] = ""
	}
	if named {
		columns = append([]string{l.File}, columns...)
	}
	for i, c := range columns {
		if columns[i] = text.Cell(c); c == "" {
			columns[i] = "-"
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(columns, "\t"))
	return err
}

// newIndex makes indexes of archives.
func newIndex(std cli.Streams) *cobra.Command {
	var quiet bool
	cmd := cli.Command("warc index", cli.Flags{"quiet": &quiet})
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("warc index takes a crawl directory, or WARC files")
		}
		return nil
	}
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error { return index(ctx, args, quiet, std) })
	return cmd
}

func index(ctx context.Context, args []string, quiet bool, std cli.Streams) error {
	dirs := 0
	for _, path := range args {
		fi, err := os.Stat(path)
		if err != nil {
			return cli.Usagef("warc index: %w", err)
		}
		if fi.IsDir() {
			dirs++
		}
	}
	switch {
	case dirs == 0:
		return printIndex(ctx, args, quiet, std)
	case len(args) > 1:
		return cli.Usagef("warc index takes one crawl directory, or WARC files")
	}
	return rebuildIndex(ctx, args[0], quiet, std)
}

// printIndex prints the index of files, and says how much of them has no place in it.
func printIndex(ctx context.Context, files []string, quiet bool, std cli.Streams) error {
	for _, path := range files {
		if err := userfile.Readable(path); err != nil {
			return err
		}
	}
	lost := 0
	err := progress.While(ctx, std.Err, quiet, progress.NewWork("index", "").Reads(1, files...), func(ctx context.Context) error {
		return cdxj.Index(ctx, std.Out, func(_ string, f warc.Finding) {
			if !f.Note() {
				lost++
			}
		}, files...)
	})
	if err == nil {
		sayWrong(std.Err, lost)
	}
	return err
}

// rebuildIndex makes the index of the stopped crawl in dir anew.
func rebuildIndex(ctx context.Context, dir string, quiet bool, std cli.Streams) (err error) {
	if err := crawldir.Require(dir); err != nil {
		return err
	}
	if _, err := control.Connect(ctx, dir); err == nil {
		return fmt.Errorf("the crawl in %s is running, and keeps its index itself", dir)
	}
	options, err := config.FrontierOptions(dir)
	if err != nil {
		return err
	}
	later := errors.New("without an index nothing is archived; the next run reports and closes it")
	options.Tell = func(context.Context, frontier.Closings) error { return later }
	f, err := engine.Open(dir, options) // its lock is the directory's
	if err != nil {
		return cli.InUse(err, dir)
	}
	defer func() {
		if cerr := f.Close(); !errors.Is(cerr, later) {
			err = errors.Join(err, cerr)
		}
	}()
	archive := filepath.Join(dir, crawldir.ArchiveName)
	display := progress.New(std.Err, quiet, false)
	err = display.While(ctx, progress.NewWork("index", "").Reads(1, archive), func(ctx context.Context) error {
		return cdxj.Rebuild(ctx, archive, filepath.Join(dir, crawldir.IndexName), func(what string) {
			display.Tell("curtsy: %s; see curtsy warc check", what)
		})
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "rebuilding %s\n", plainly.Lines(filepath.Join(dir, crawldir.IndexName)))
	return nil
}
