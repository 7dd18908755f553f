package cli

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier/canon"
)

// Streams are the three streams of a process.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// WriteLine prints a line of NDJSON.
func WriteLine(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// JSONFlag declares --json.
func JSONFlag(cmd *cobra.Command, to *bool, what string) {
	cmd.Flags().BoolVar(to, "json", false, what)
	Group(cmd.Flags(), "Output")
}

// MayWrite refuses to let an option write a file of a kind where something else stands.
func MayWrite(option, path string, k userfile.Kind) error {
	if path == "" {
		return nil
	}
	if err := k.Writable(path, crawldir.Place()); err != nil {
		return Usagef("%s: %w", option, err)
	}
	return nil
}

// URL parses a URL from the command line.
func URL(raw string) (canon.URL, error) {
	u, err := canon.Parse(raw)
	if err == nil {
		return u, nil
	}
	if _, why := crawldir.Seed(raw, ""); why != nil {
		return u, Usagef("%s", strings.Replace(why.Error(), "seed ", "URL ", 1))
	}
	return u, Usagef("%w", err)
}
