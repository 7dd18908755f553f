package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/storage/plainly"
	"curtsy/storage/warc"
)

// maxDecoded bounds what a payload may grow to when its codings are undone.
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

// catMatch says which record is meant: that at an offset, or the first or last that matches.
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

// errLocated ends a search.
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

// catAt prints the record at an offset, so many octets within its decompressed member.
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
		if err := printRecord(forTerminal(out), path, r, payload); err != nil {
			return err
		}
		if _, err := l.End(); err != nil { // its checksum stands there
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

// forTerminal makes what is printed harmless if out is a terminal: an archive is as hostile as the web.
func forTerminal(out io.Writer) io.Writer {
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return plainWriter{out}
	}
	return out
}

type plainWriter struct{ out io.Writer }

func (w plainWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.out, plainly.Lines(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
