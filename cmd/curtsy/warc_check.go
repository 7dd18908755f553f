package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/storage/plainly"
	"curtsy/storage/warc"
)

// warcShown is how many findings of one kind are printed for a file; the others are counted.
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

// warcCheck prints what a check finds.
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
		f, err := openWARC(path)
		if err != nil {
			return err
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

// rest counts the findings that were not printed.
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
