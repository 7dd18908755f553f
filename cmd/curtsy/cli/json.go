package cli

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
)

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
