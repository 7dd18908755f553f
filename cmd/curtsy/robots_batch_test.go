package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

func TestRobotsBatchAnswersBadLinesAndGoesOn(t *testing.T) {
	t.Parallel()
	good := `{"id":"good","robots_txt":"","agent":"bot","url":"http://bakery.test/"}`
	for _, c := range []struct{ in, id, says string }{
		{`nonsense`, `null`, "invalid character"},
		{`{"id":1`, `null`, "unexpected end"},
		{good + good, `null`, "invalid character"},
		{`[1]`, `null`, "the line: unexpected array"},
		{`{"id":1,"robots_txt":3,"url":"http://bakery.test/"}`, `1`, "robots_txt: unexpected number"},
		{`{"id":"x","agent":"bot","url":"http://bakery.test/"}`, `"x"`, "neither robots_txt nor robots_b64"},
		{`{"id":2,"robots_txt":"","robots_b64":"","url":"http://bakery.test/"}`, `2`, "use only one of them"},
		{`{"id":2,"robots_b64":"?","url":"http://bakery.test/"}`, `2`, "robots_b64: illegal base64"},
		{`{"id":2,"robots_txt":"","standard":"rfc9308","url":"http://bakery.test/"}`, `2`, `no standard "rfc9308"`},
		{`{"id":2,"robots_txt":"","agent":"bot/1","url":"http://bakery.test/"}`, `2`, "agent: "},
		{`{"id":2,"robots_txt":"","agent":"","url":"http://bakery.test/"}`, `2`, "agent: "},
		{`{"id":2,"robots_txt":"","agent":"bot"}`, `2`, "url: "},
		{`{"id":2,"robots_txt":"","agent":"bot","url":"mailto:a@bakery.test"}`, `2`, "url: "},
		{`{"id":2,"robots_txt":"","agent":"bot","url":"http://` + strings.Repeat("x", 40000) + `"}`, `2`, "url too long"},
		{strings.Repeat("x", maxQuestion+1), `null`, "longer than 16MiB"},
	} {
		r := fed(t, c.in+"\n\n"+good, "robots", "check", "--batch")
		r.want(t, cli.ExitDone)
		first, second, _ := strings.Cut(r.out, "\n")
		var bad refusal
		if err := json.Unmarshal([]byte(first), &bad); err != nil || string(bad.ID) != c.id || !strings.Contains(bad.Error, c.says) {
			t.Errorf("%.99s: %.200s; want id %s and %q", c.in, first, c.id, c.says)
		}
		if !strings.HasPrefix(second, `{"id":"good","allow":true,`) || strings.Count(second, "\n") != 1 {
			t.Errorf("%.99s: then %s", c.in, second)
		}
	}
}

// Each question is answered before the next is awaited.
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
	if code := <-ended; code != cli.ExitDone {
		t.Errorf("exit code %d", code)
	}
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
