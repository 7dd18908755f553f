package main

import (
	"context"
	"io"
	"os"
	"runtime"
)

func main() {
	runtime.MemProfileRate = 0 // only bench --profile wants samples, and sets it
	os.Exit(run(context.Background(), os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
}

// stdio are the three streams of a process.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// run is the whole program but for the process around it.
func run(ctx context.Context, args []string, std stdio) int {
	root := newRoot(std)
	root.SetArgs(args)
	return report(std.err, root.ExecuteContext(ctx))
}
