package main

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"

	"curtsy/cmd/curtsy/cli"
)

// A process that runs several command lines, like a test, keeps none of them in memory.
func TestACommandLineThatHasEndedIsLetGo(t *testing.T) {
	t.Parallel()
	root := newRoot(cli.Streams{})
	held := weak.Make(root)
	runtime.KeepAlive(root)
	for range 3 {
		runtime.GC()
	}
	assert.Nil(t, held.Value(), "the commands are held by something that lives as long as the process")
}
