package cli

import "io"

// Streams are the three streams of a process.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}
