package main

import (
	"context"
	"os"
	"runtime"

	"curtsy/cmd/curtsy/cli"
)

func main() {
	runtime.MemProfileRate = 0 // nobody looks at samples
	os.Exit(run(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// run is the whole program but for the process around it.
func run(ctx context.Context, args []string, std cli.Streams) int {
	root := newRoot(std)
	root.SetArgs(args)
	if completionAsked(args) {
		attach(root)
	}
	return cli.Report(std.Err, root.ExecuteContext(ctx))
}
