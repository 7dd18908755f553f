package sitemap

import (
	"errors"
	"io"
	"strings"

	"curtsy/frontier/canon"
)

// readText reads a list of URLs, one a line.
func (p *pass) readText(text *clean) error {
	p.report.Format = Text
	line := make([]byte, 0, 256)
	for {
		text.begin()
		b, err := text.ReadByte()
		end := err != nil
		if end && !errors.Is(err, io.EOF) {
			return nil // the body's error: Read says so
		}
		if !end && b != '\n' && b != '\r' {
			if len(line) < maxLine {
				line = append(line, b)
			}
			continue
		}
		if !blank(line) {
			// Against the zero URL: running text must not become a list of relative addresses.
			if err := p.give(canon.URL{}, strings.TrimFunc(string(line), around), Entry{Priority: defaultPriority}); err != nil {
				return err
			}
		}
		line = line[:0]
		if end {
			break
		}
	}
	if p.octets.over || p.octets.err != nil {
		p.stop(text.offset(), "", "")
	}
	if p.report.Entries == 0 && p.report.Finding == nil {
		p.stop(0, FoundNoMap, "no line is a URL")
	}
	return nil
}

func blank(line []byte) bool {
	for _, b := range line {
		if b != ' ' && b != '\t' {
			return false
		}
	}
	return true
}
