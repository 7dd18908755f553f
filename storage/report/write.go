package report

import (
	"encoding/json"
	"fmt"
	"io"

	"curtsy/frontier/durable"
)

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("report: write the JSON form: %w", err)
	}
	return nil
}

// Write writes a file of the crawl directory whole, by one of the report's writers, or leaves what was there as it was.
func Write(path string, write func(io.Writer) error) error {
	if err := durable.File(path, write); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Output is Write for a path that a user named, which may be a device.
func Output(path string, write func(io.Writer) error) error {
	if err := durable.Output(path, write); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
