package main

import (
	"encoding/json"
	"fmt"
	"io"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/storage/plainly"
)

// maxFile bounds a robots.txt that is read from a file. Beyond robots.MaxBody it is not parsed anyway.
const maxFile = 64 << 20

// readFile reads a robots.txt from a file, "-" for standard input.
func readFile(path string, std cli.Streams) ([]byte, error) {
	in := std.In
	if path != "-" {
		f, err := userfile.Open(path)
		if err != nil {
			return nil, cli.Absent(fmt.Errorf("robots.txt: %w", err))
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("robots.txt: %w", err)
	}
	if len(body) > maxFile {
		return nil, fmt.Errorf("robots.txt: %s is larger than %s", path, plainly.ExactSize(maxFile))
	}
	return body, nil
}

// jsonLines writes an object per line, with "&" and "<" as they are.
func jsonLines(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}
