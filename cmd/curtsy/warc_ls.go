package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/storage/mediatype"
	"curtsy/storage/warc"
)

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
	cmd := cli.Command("warc ls")
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
	cli.JSONFlag(cmd, &asJSON, "print JSON, an object a line")
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
