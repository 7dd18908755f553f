package main

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"

	"curtsy/cmd/curtsy/cli"
)

// A process that runs one command line after another, as a test does, keeps nothing of those that have ended.
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
