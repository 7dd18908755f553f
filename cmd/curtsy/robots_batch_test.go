package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/cmd/curtsy/cli"
)

// Each line is answered before the next.
func TestRobotsBatchStreams(t *testing.T) {
	t.Parallel()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan int)
	go func() {
		ended <- run(context.Background(), []string{"robots", "check", "--batch"}, cli.Streams{In: inR, Out: outW, Err: io.Discard})
	}()
	answers := bufio.NewReader(outR)
	for i := range 3 {
		if _, err := fmt.Fprintf(inW, `{"id":%d,"robots_txt":"","agent":"bot","url":"http://bakery.test/"}`+"\n", i); err != nil {
			t.Fatal(err)
		}
		if line, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(line, fmt.Sprintf(`{"id":%d,"allow":true`, i)) {
			t.Fatalf("answer %d: %s, %v", i, line, err)
		}
	}
	inW.Close()
	assert.Equal(t, cli.ExitDone, <-ended, "exit code")
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (brokenPipe) Read([]byte) (int, error)  { return 0, io.ErrUnexpectedEOF }

func TestRobotsBatchWithoutInputOrOutput(t *testing.T) {
	t.Parallel()
	good := strings.NewReader(`{"robots_txt":"","agent":"bot","url":"http://bakery.test/"}`)
	for _, std := range []cli.Streams{{In: good, Out: brokenPipe{}, Err: io.Discard}, {In: brokenPipe{}, Out: io.Discard, Err: io.Discard}} {
		if code := run(context.Background(), []string{"robots", "check", "--batch"}, std); code != cli.ExitFailed {
			t.Errorf("exit code %d, want %d", code, cli.ExitFailed)
		}
	}
}
