package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

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

func someFiles(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return nil
	}
	return fmt.Errorf("%s takes WARC files: write %s", cmd.Name(), cmd.UseLine())
}

// eachRecord calls do for each record of the archive at path, until do returns an error.
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

func sayWrong(say io.Writer, n int) {
	switch n {
	case 0:
	case 1:
		fmt.Fprintln(say, "curtsy: found one problem; see curtsy warc check")
	default:
		fmt.Fprintf(say, "curtsy: found %d problems; see curtsy warc check\n", n)
	}
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
		return err // it names the reason
	}
	if p := (*os.PathError)(nil); errors.As(err, &p) && p.Path == path {
		return err
	}
	return fmt.Errorf("read %s: %w", path, err)
}

type listed struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Within int64  `json:"within,omitempty"` // bytes into the decompressed member
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
				_ = w.Flush() // list the records before the error
				return err
			}
		}
		sayWrong(std.Err, lost)
		return w.Flush()
	}
	return cmd
}

func describe(path string, r *warc.Record) listed {
	l := listed{
		File: path, Offset: r.Offset, Within: r.Within, Type: r.Type, ID: r.ID(), Date: r.Fields.Get("WARC-Date"),
		Length: r.Length, URL: r.TargetURI(),
	}
	l.Media = mediatype.Parse(r.Fields.Get("Content-Type")).Name
	if (r.Type == "response" || r.Type == "revisit") && l.Media == "application/http" {
		b, _ := io.ReadAll(io.LimitReader(r.Block, 32<<10)) // a torn block may still have a whole head
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

// printIndex prints the index of files, and counts the problems in them.
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

// rebuildIndex rebuilds the index of the stopped crawl in dir.
func rebuildIndex(ctx context.Context, dir string, quiet bool, std cli.Streams) (err error) {
	if err := crawldir.Require(dir); err != nil {
		return err
	}
	if _, err := control.Connect(ctx, dir); err == nil {
		return fmt.Errorf("the crawl in %s is running, and keeps its index itself", dir)
	}
	s, err := config.Of(dir)
	if err != nil {
		return err
	}
	options := s.FrontierOptions()
	options.Operator = true // the delay after a kill, and the report of the kill, are for the crawl's next opening
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

// maxDecoded bounds a decoded payload, in bytes.
const maxDecoded = 1 << 30

func newCat(std cli.Streams) *cobra.Command {
	var id, url string
	var payload bool
	cmd := cli.Command("warc cat", cli.Flags{"id": &id, "url": &url, "payload": &payload})
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		offset, match, last, err := catMatch(args, id, url)
		if err != nil {
			return err
		}
		within := int64(0)
		if match != nil {
			if offset, within, err = locate(args[0], match, last); err != nil {
				return err
			}
		}
		return catAt(std.Out, args[0], offset, within, payload)
	}
	return cmd
}

// catMatch returns the offset of the record to print, or a match for the first or last such record.
func catMatch(args []string, id, url string) (at int64, match func(*warc.Record) bool, last bool, err error) {
	ways := 0
	for _, given := range []bool{len(args) == 2, id != "", url != ""} {
		if given {
			ways++
		}
	}
	switch {
	case len(args) == 0 || len(args) > 2 || ways != 1:
		return 0, nil, false, cli.Usagef("cat takes one WARC file and one of OFFSET, --id and --url; see curtsy warc cat --help")
	case id != "":
		return 0, func(r *warc.Record) bool { return r.ID() == id || "<"+r.ID()+">" == id }, false, nil
	case url != "":
		return 0, func(r *warc.Record) bool {
			return r.TargetURI() == url && (r.Type == "response" || r.Type == "resource")
		}, true, nil
	}
	at, err = strconv.ParseInt(args[1], 10, 64)
	if err != nil || at < 0 {
		return 0, nil, false, cli.Usagef("cat: %q is not an offset; curtsy warc ls prints them", args[1])
	}
	return at, nil, false, nil
}

var errLocated = errors.New("located")

// locate finds the first or the last record that matches.
func locate(path string, match func(*warc.Record) bool, last bool) (offset, within int64, err error) {
	offset = -1
	err = eachRecord(path, nil, func(r *warc.Record) error {
		if !match(r) {
			return nil
		}
		if offset, within = r.Offset, r.Within; last {
			return nil
		}
		return errLocated
	})
	if err != nil && !errors.Is(err, errLocated) {
		return 0, 0, err
	}
	if offset < 0 {
		return 0, 0, fmt.Errorf("%s has no such record; curtsy warc ls prints those it has", path)
	}
	return offset, within, nil
}

// catAt prints the record at an offset, and within bytes into its decompressed member.
func catAt(out io.Writer, path string, offset, within int64, payload bool) error {
	if err := userfile.Readable(path); err != nil {
		return err
	}
	var damage string
	l, f, err := warc.LenientAt(path, offset, func(f warc.Finding) {
		switch f.Code {
		case warc.DamagedMember, warc.ShortMember, warc.Torn, warc.NoEnd:
			damage = cmp.Or(damage, f.Text)
		}
	})
	if err != nil {
		return unreadable(path, err)
	}
	defer f.Close() // only read
	for {
		r, err := l.Next()
		if err == nil && r.Offset == offset && r.Within < within {
			continue
		}
		if errors.Is(err, io.EOF) || err == nil && (r.Offset != offset || r.Within != within) {
			return fmt.Errorf("%s has no record at offset %d; curtsy warc ls prints where they are", path, offset)
		}
		if err != nil {
			return unreadable(path, err)
		}
		if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			out = plainWriter{out}
		}
		if err := printRecord(out, path, r, payload); err != nil {
			return err
		}
		if _, err := l.End(); err != nil { // checks its checksum
			return unreadable(path, err)
		}
		if damage != "" {
			return fmt.Errorf("the record at offset %d of %s is damaged: %s", offset, path, damage)
		}
		return nil
	}
}

func printRecord(out io.Writer, path string, r *warc.Record, payload bool) error {
	body := r.Block
	if payload {
		if r.Type == "revisit" {
			return fmt.Errorf("the record at offset %d of %s is a revisit without a payload: it refers to %q of %s",
				r.Offset, path, r.Fields.Get("WARC-Refers-To-Target-URI"), r.Fields.Get("WARC-Refers-To-Date"))
		}
		if r.Type == "response" {
			h, err := warc.ReadHTTP(r.Block)
			if err != nil {
				return unreadable(path, err)
			}
			if body, err = h.Body(maxDecoded); err != nil {
				return unreadable(path, err)
			}
		}
	}
	if _, err := io.Copy(out, body); err != nil {
		return fmt.Errorf("print the record at offset %d of %s: %w", r.Offset, path, err)
	}
	return nil
}

// plainWriter escapes the output for a terminal: an archive is as hostile as the web.
type plainWriter struct{ out io.Writer }

func (w plainWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.out, plainly.Lines(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// warcShown bounds the findings of one kind that are printed for a file; the others are counted.
const warcShown = 10

func newWarcCheck(std cli.Streams) *cobra.Command {
	cmd := cli.Command("warc check")
	cmd.Args = someFiles
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		c := warcCheck{out: bufio.NewWriter(std.Out), checker: warc.NewChecker(), files: args}
		err := c.run(std.Err)
		if ferr := c.out.Flush(); err == nil {
			err = ferr
		}
		if err == nil && c.wrong > 0 {
			err = cli.Silent(cli.ExitFound)
		}
		return err
	}
	return cmd
}

type warcCheck struct {
	out     *bufio.Writer
	checker *warc.Checker
	files   []string
	seen    map[string]int // of each code, in the current file
	wrong   int
}

func (c *warcCheck) run(say io.Writer) error {
	for i, path := range c.files {
		c.seen = map[string]int{}
		before := c.wrong
		f, err := userfile.Open(path)
		if err != nil {
			return unreadable(path, err)
		}
		n, err := c.checker.File(f, func(f warc.Finding) { c.print(i, f) })
		f.Close() // only read
		if err != nil {
			return unreadable(path, err)
		}
		c.rest(path)
		verdict := "nothing wrong"
		if wrong := c.wrong - before; wrong > 0 {
			verdict = plainly.Count(int64(wrong), "finding")
		}
		fmt.Fprintf(say, "%s: %s, %d block and %d payload digests hold: %s\n", plainly.Lines(path), plainly.Count(n.Records, "record"), n.Blocks, n.Bodies, verdict)
	}
	last, before := -1, c.wrong
	c.checker.Finish(func(file int, f warc.Finding) {
		if file != last {
			if last >= 0 {
				c.rest(c.files[last])
			}
			last, c.seen = file, map[string]int{}
		}
		c.print(file, f)
	})
	if last >= 0 {
		c.rest(c.files[last])
	}
	if wrong := c.wrong - before; wrong > 0 {
		fmt.Fprintf(say, "references between records: %s\n", plainly.Count(int64(wrong), "finding"))
	}
	return nil
}

func (c *warcCheck) print(file int, f warc.Finding) {
	note := ""
	if f.Note() {
		note = "note: "
	} else {
		c.wrong++
	}
	if c.seen[f.Code]++; c.seen[f.Code] > warcShown {
		return
	}
	fmt.Fprintf(c.out, "%s:%d: %s%s (%s)\n", plainly.Lines(c.files[file]), f.Offset, note, text.Cell(f.Text), f.Code)
}

func (c *warcCheck) rest(path string) {
	for _, code := range slices.Sorted(maps.Keys(c.seen)) {
		n := c.seen[code] - warcShown
		if n <= 0 {
			continue
		}
		note := ""
		if (warc.Finding{Code: code}).Note() {
			note = "note: "
		}
		fmt.Fprintf(c.out, "%s: %sthe same %d times more (%s)\n", plainly.Lines(path), note, n, code)
	}
}
